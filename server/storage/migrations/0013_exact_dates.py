"""Corrects the numbers of dates that 0011 read on SQLite otherwise than the server does.

SQLite rounded fractions of milliseconds, and did not accept offsets above 14 hours.
"""

import re
from datetime import UTC, datetime, timedelta

from peewee import CompositeKey, DoubleField, IntegerField, Model, PostgresqlDatabase, TextField

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


OTHER_FORM = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)\d*)?"
    r" ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?(?: (?:UTC|GMT|[A-Z]{3,5}|[+-]\d{2,4}))?",
    re.ASCII,
)


def parse_timestamp(text):
    """Returns a timestamp in milliseconds since 1970, or None if the text is not one."""
    text = text.strip()
    if len(text) > 50:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        match = OTHER_FORM.fullmatch(text)
        if match is None:
            return None
        year, month, day, clock, offset = match.groups()
        offset = "+00:00" if offset in (None, "Z", "UTC", "GMT") else offset
        try:
            time = datetime.fromisoformat(f"{year}-{month}-{day}T{clock or '00:00'}{offset}")
        except ValueError:
            return None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


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
