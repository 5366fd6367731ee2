"""The deletion of an account leaves nothing of it, also after an interruption."""

from __future__ import annotations

from typing import Any

import pytest
from peewee import BlobField, BooleanField, CompositeKey, FloatField, IntegerField, Model

from rosterd.server.maintenance import account_deletion
from rosterd.server.serving.console import ExitCode
from rosterd.server.storage import account_rows
from rosterd.server.storage.databases import reading, unit_of_work
from rosterd.server.storage.migrate import tables_in_dependency_order
from rosterd.server.storage.transaction import Transaction

from ..cli.commands import error_line, json_output, roster
from .helpers import select
from .test_migrate import models

DELETED, OTHER = "0" * 26, "1" * 26
# Rows of an account in a table, unless its key is the account.
ROWS = 5
MODELS = {model._meta.table_name: model for model in models()}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deletes two rows at a time, and does not wait for services."""
    for module in (account_rows, account_deletion):
        monkeypatch.setattr(module, "CHUNK", 2)
    monkeypatch.setattr(account_deletion, "SECONDS_UNTIL_KEYS_STOP", 0)


@pytest.fixture
def url(url: str) -> str:
    """A database with two accounts that have rows in every table."""
    with unit_of_work(url) as tx:
        for name in tables_in_dependency_order(tx.database):
            for account in (DELETED, OTHER):
                add_rows(MODELS[name], account, tx)
    return url


def add_rows(model: type[Model], account: str, tx: Transaction) -> None:
    """Inserts rows whose values are the same in all tables, so that references match."""
    fields = model._meta.fields
    has_one = not isinstance(model._meta.primary_key, CompositeKey)
    for number in range(1 if has_one else ROWS):
        row = {
            name: value_of(field, f"{account}{number}", number) for name, field in fields.items()
        }
        row |= {"account_id": account} if "account_id" in fields else {"id": account}
        model.insert({name: row[name] for name in fields if name in row}).execute(tx.database)


def value_of(field: Any, text: str, number: int) -> Any:
    if isinstance(field, BlobField):
        return text.encode()
    if isinstance(field, BooleanField):
        return True
    return number if isinstance(field, (IntegerField, FloatField)) else text


def rows_by_table(url: str, account: str) -> dict[str, list[Any]]:
    """Returns the rows of an account in every table."""
    with reading(url) as tx:
        return {
            name: select(f"SELECT * FROM {name} WHERE {column} = '{account}'", tx)
            for name, model in MODELS.items()
            if (column := "account_id" if "account_id" in model._meta.fields else "id")
            in model._meta.fields
        }


def test_nothing_of_a_deleted_account_remains_in_any_table(url: str) -> None:
    before, other = rows_by_table(url, DELETED), rows_by_table(url, OTHER)
    assert all(before.values())
    assert len(before) > 20

    done = json_output(url, "accounts", "delete", DELETED, "--yes")

    deleted = {name: len(rows) for name, rows in before.items() if name != "account"}
    assert done == {"accountId": DELETED, "rows": deleted}
    assert not any(rows_by_table(url, DELETED).values())
    assert rows_by_table(url, OTHER) == other


def test_interrupted_deletion_has_ended_the_keys_and_is_resumed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(account_deletion, "_finish", interrupt)
        done = roster("accounts", "delete", DELETED, "--yes", ROSTER_DATABASE_URL=url)

    assert "Run the same command again" in error_line(done, ExitCode.INTERRUPTED)
    left = rows_by_table(url, DELETED)
    assert (len(left["account"]), left["api_key"]) == (1, [])
    json_output(url, "accounts", "delete", DELETED, "--yes")
    assert not any(rows_by_table(url, DELETED).values())


def test_deletion_requires_a_confirmation(url: str) -> None:
    done = roster("accounts", "delete", DELETED, ROSTER_DATABASE_URL=url)

    assert "--yes" in error_line(done, ExitCode.USAGE)
    assert all(rows_by_table(url, DELETED).values())
