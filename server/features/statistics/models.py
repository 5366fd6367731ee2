"""The table of statistics."""

from __future__ import annotations

from peewee import BigIntegerField, CompositeKey, Model, TextField


class Statistic(Model):
    """A count of an account: a total if `day` is 0, otherwise what changed in that period.

    A positive `day` is the number of days since 1970-01-01 in UTC, a negative one the number of
    quarter hours, from which days in other time zones are counted. For the names see `rules.py`.
    """

    account_id = TextField()
    day = BigIntegerField()
    name = TextField()
    total = BigIntegerField()

    class Meta:
        table_name = "statistic"
        primary_key = CompositeKey("account_id", "day", "name")
        without_rowid = True
