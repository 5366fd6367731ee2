"""The migrations that count tags by status, and that add the keys of stored custom values."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from playhouse.migrations import Runner

from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.statistics.rules import TAG
from rosterd.server.features.statistics.store import tag_totals, totals
from rosterd.server.features.subscribers.value_keys import value_keys
from rosterd.server.storage import migrate as migrations
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.postgres import connection
from rosterd.server.storage.sqlite.file import connect, prepare

from .filters import FIELDS
from .helpers import OURS, select

BEFORE = "0009_account_branding"
STATUSES = (1, 2, 2)
VALUES = [(key, value) for key, (_, values) in FIELDS.items() for value in values]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with the previous schema, and subscribers with values and a tag."""
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path}/roster.db"
        database: Any = connect(tmp_path / "roster.db")
        prepare(database)
    else:
        address = request.getfixturevalue("postgres").new_database()
        database = connection.connect(address)
    with closing(database):
        Runner(database, str(migrations.DIRECTORY)).up(BEFORE)

        def insert(table: str, **values: Any) -> None:
            marks = ", ".join(["%s" if request.param == "postgres" else "?"] * (len(values) + 1))
            text = f"INSERT INTO {table} (account_id, {', '.join(values)}) VALUES ({marks})"
            database.execute_sql(text, (OURS, *values.values()))

        insert("tag", id="vip", name="vip", name_key="vip", description="", created_at=1)
        insert("statistic", day=0, name="tag:vip", total=len(STATUSES))
        for key, (data_type, _) in FIELDS.items():
            names = {"id": key, "key": key, "label": key, "label_key": key}
            times = {"created_at": 1, "updated_at": 1}
            insert("custom_field", **names, data_type=int(data_type), fallback="", **times)
        for number in range(len(VALUES)):
            names = {"first_name": "Ada", "last_name": "", "name_key": "ada"}
            email = {"email": f"{number}@x.de", "email_key": f"{number}@x.de"}
            status = STATUSES[min(number, 2)]
            insert("subscriber", id=f"{number:02}", status=status, created_at=1, **email, **names)
        for number in range(len(STATUSES)):
            insert("subscriber_tag", subscriber_id=f"{number:02}", tag_id="vip")
        for number, (key, value) in enumerate(VALUES):
            text = orjson.dumps(value).decode()
            insert("custom_value", subscriber_id=f"{number:02}", key=key, value=text)
        if request.param == "postgres":
            database.commit()
    return address


def test_stored_tags_are_counted_by_status(url: str) -> None:
    with unit_of_work(url) as tx:
        assert totals(OURS, TAG, tx) == {"vip:1": 1, "vip:2": 2}
        assert tag_totals(OURS, tx) == {"vip": 3}


def test_stored_values_get_the_keys_of_new_ones(url: str) -> None:
    with unit_of_work(url) as tx:
        rows = select(
            "SELECT subscriber_id, key, text_key, number_key FROM custom_value ORDER BY 1", tx
        )

    expected = [(f"{n:02}", key, *value_keys(value)) for n, (key, value) in enumerate(VALUES)]
    assert rows == expected
    assert {DataType(data_type) for data_type, _ in FIELDS.values()} == set(DataType)
