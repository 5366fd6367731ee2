"""Corrects the numbers of dates that 0011 read on SQLite otherwise than the server does.

SQLite rounded fractions of milliseconds, and did not accept offsets above 14 hours.
"""

from peewee import CompositeKey, DoubleField, IntegerField, Model, PostgresqlDatabase, TextField

from server.timestamps import parse_timestamp

DATE = 4


class CustomField(Model):
    account_id = TextField()
    key = TextField()
    data_type = IntegerField()

    class Meta:
        table_name = "custom_field"
        primary_key = CompositeKey("account_id", "key")


class CustomValue(Model):
    account_id = TextField()
    subscriber_id = TextField()
    key = TextField()
    text_key = TextField(null=True)
    number_key = DoubleField(null=True)

    class Meta:
        table_name = "custom_value"
        primary_key = CompositeKey("account_id", "subscriber_id", "key")


def up(migrator, db):
    if isinstance(db, PostgresqlDatabase):
        return
    is_field = (CustomField.account_id == CustomValue.account_id) & (
        CustomField.key == CustomValue.key
    )
    with db.bind_ctx([CustomField, CustomValue]):
        dates = (
            CustomValue.select()
            .join(CustomField, on=is_field)
            .where(
                CustomField.data_type == DATE,
                CustomValue.number_key.is_null()
                | (CustomValue.text_key % "*.[0-9][0-9][0-9][0-9]*"),
            )
        )
        for row in list(dates):
            row.number_key = parse_timestamp(row.text_key)
            row.save(only=[CustomValue.number_key])
