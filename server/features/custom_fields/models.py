"""The tables of custom fields and of the values of subscribers."""

from __future__ import annotations

from peewee import (
    SQL,
    BigIntegerField,
    CompositeKey,
    DoubleField,
    Model,
    SmallIntegerField,
    TextField,
)


class CustomField(Model):
    """A custom field; `label_key` is the normal form of the label.

    `data_type` is the number of a type, plus 16 if values that are stored with another type can be
    converted to it, see `value_conversion.py`.

    If the field is deleted, it is DELETED_KEY and the ID, until no subscriber has a value.
    """

    account_id = TextField()
    id = TextField()
    key = TextField()
    label = TextField()
    label_key = TextField()
    data_type = SmallIntegerField()
    fallback = TextField()
    created_at = BigIntegerField()
    updated_at = BigIntegerField()

    class Meta:
        table_name = "custom_field"
        primary_key = CompositeKey("account_id", "id")
        indexes = ((("account_id", "key"), True), (("account_id", "label_key"), True))
        without_rowid = True


# DELETED_KEY sorts before a space, and every label after it.
IS_DELETED_FIELD = CustomField.label_key < SQL("' '")
IS_FIELD = CustomField.label_key > SQL("' '")
# The search across accounts for deleted fields reads only these.
CustomField.add_index(
    CustomField.account_id,
    CustomField.id,
    name="custom_field_deleted",
    unique=True,
    where=IS_DELETED_FIELD,
)
# The types of these are read with each subscriber. The number is that of `value_conversion.py`.
IS_CONVERTED_FIELD = CustomField.data_type > SQL("15")
CustomField.add_index(
    CustomField.account_id,
    CustomField.key,
    CustomField.data_type,
    name="custom_field_converted",
    where=IS_CONVERTED_FIELD,
)


class CustomValue(Model):
    """A subscriber's value of a custom field, as JSON. Deleted with the subscriber or the field.

    `text_key` and `number_key` are for comparisons, see `subscribers/value_keys.py`. The index
    contains them after the subscriber, so that the values of a new subscriber are added at its end.
    """

    account_id = TextField()
    subscriber_id = TextField()
    key = TextField()
    value = TextField()
    text_key = TextField(null=True)
    number_key = DoubleField(null=True)

    class Meta:
        table_name = "custom_value"
        primary_key = CompositeKey("account_id", "subscriber_id", "key")
        indexes = ((("account_id", "key", "subscriber_id", "text_key", "number_key"), True),)
        constraints = [  # noqa: RUF012 - Peewee reads it from the class
            SQL(
                "FOREIGN KEY (account_id, subscriber_id)"
                " REFERENCES subscriber (account_id, id) ON DELETE CASCADE"
            ),
            SQL(
                "FOREIGN KEY (account_id, key)"
                " REFERENCES custom_field (account_id, key) ON DELETE CASCADE"
            ),
        ]
        without_rowid = True
