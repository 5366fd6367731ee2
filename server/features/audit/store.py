"""Stores, reads and deletes the entries of the audit log."""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import orjson
from peewee import SQL, Expression, ModelSelect, fn

from ...rpc.paging import Page
from ...storage.statements import Dialect, Statement, param
from ...storage.transaction import Transaction
from ...values.clock import iso8601
from ...values.ids import first_id_at, timestamp_of
from .models import AuditEntry
from .rules import COMMAND_LINE, RETENTION_MILLISECONDS, Fields, changes, resource_type


class AuditEntryRow(NamedTuple):
    """A stored entry, see `AuditEntry`."""

    id: str
    action: str
    actor: str
    actor_name: str
    ip: str
    resource_id: str
    before: str
    after: str

    def as_json(self) -> dict[str, Any]:
        """Returns the entry as the API does."""
        is_command = self.actor == COMMAND_LINE
        actor = {"type": self.actor} if is_command else {"type": "API_KEY", "id": self.actor}
        entry: dict[str, Any] = {
            "id": self.id,
            "action": self.action,
            "createdAt": iso8601(timestamp_of(self.id)),
            "actor": {**actor, "name": self.actor_name} if self.actor_name else actor,
            "ip": self.ip,
            "resourceType": resource_type(self.action),
            "resourceId": self.resource_id,
            "before": parsed(self.before),
            "after": parsed(self.after),
        }
        return {name: value for name, value in entry.items() if value}


class Filter(NamedTuple):
    """The entries to list; None matches all. The ends are exclusive.

    Page tokens contain a digest of the representation of a filter.
    """

    action: str | None = None
    first_action: str | None = None
    end_action: str | None = None
    actor: str | None = None
    resource_id: str | None = None
    first_id: str | None = None
    end_id: str | None = None


def filter_of(
    *,
    action: str,
    actor: str,
    resource_type: str,
    resource_id: str,
    first_id: str | None,
    end_id: str | None,
) -> Filter:
    """Returns a filter; an empty text matches all."""
    # The actions of a resource type are between its name with a period and with a slash, which is
    # the next character.
    return Filter(
        action=action or None,
        first_action=f"{resource_type}." if resource_type else None,
        end_action=f"{resource_type}/" if resource_type else None,
        actor=actor or None,
        resource_id=resource_id or None,
        first_id=first_id,
        end_id=end_id,
    )


_COLUMNS = tuple(getattr(AuditEntry, name) for name in AuditEntryRow._fields)
_IN_ACCOUNT = AuditEntry.account_id == param("account_id")
_CONDITIONS: Mapping[str, Expression] = {
    "action": AuditEntry.action == param("action"),
    "first_action": AuditEntry.action >= param("first_action"),
    "end_action": AuditEntry.action < param("end_action"),
    "actor": AuditEntry.actor == param("actor"),
    "resource_id": AuditEntry.resource_id == param("resource_id"),
    "first_id": AuditEntry.id >= param("first_id"),
    "end_id": AuditEntry.id < param("end_id"),
}
_OLD = _IN_ACCOUNT & _CONDITIONS["end_id"]
_ADD = Statement(
    lambda dialect: dialect.insert_all(AuditEntry.account_id, _COLUMNS, "rows"), has_one_plan=True
)
_HAS_OLD = Statement(
    lambda _: AuditEntry.select(AuditEntry.id).where(_OLD).limit(SQL("1")), has_one_plan=True
)
_PURGE = Statement(lambda _: AuditEntry.delete().where(_OLD), without_account_lock=True)


def add(account_id: str, rows: Sequence[AuditEntryRow], tx: Transaction) -> None:
    """Stores entries, except those that are stored. One statement."""
    tx.run(_ADD, account_id=account_id, rows=[[*row] for row in rows])


def record_command(
    account_id: str,
    action: str,
    tx: Transaction,
    *,
    before: Fields | None = None,
    after: Fields | None = None,
) -> None:
    """Records an action of the command line. The resource is given as the API returns it."""
    record(
        account_id,
        action,
        tx,
        actor=COMMAND_LINE,
        actor_name=_user_name(),
        before=before,
        after=after,
    )


def record(
    account_id: str,
    action: str,
    tx: Transaction,
    *,
    actor: str,
    actor_name: str,
    ip: str = "",
    before: Fields | None = None,
    after: Fields | None = None,
) -> None:
    """Records an action. The resource is given as the API returns it."""
    resource = after or before or {}
    old, new = changes(action, before, after)
    row = AuditEntryRow(
        id=tx.new_id(),
        action=action,
        actor=actor,
        actor_name=actor_name,
        ip=ip,
        resource_id=resource.get("id", ""),
        before=text_of(old),
        after=text_of(new),
    )
    add(account_id, [row], tx)


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # A user of a container can have no name.
        return ""


def text_of(fields: Fields) -> str:
    """Returns fields as they are stored."""
    return orjson.dumps(fields).decode() if fields else ""


def parsed(text: str) -> dict[str, Any]:
    """Returns stored fields."""
    fields: dict[str, Any] = orjson.loads(text) if text else {}
    return fields


def page(
    account_id: str, filters: Filter, page: Page, tx: Transaction
) -> tuple[list[AuditEntryRow], int, Page | None]:
    """Returns the entries of a page, newest first, their number, and the next page.

    Two statements.
    """
    rest = filters if page.token is None else filters._replace(end_id=page.token.after)
    # One row more than the page shows whether more follow.
    found = rows(account_id, rest, page.limit + 1, tx, offset=page.offset)
    names, values = _given(filters)
    total = int(tx.scalar(_count(names), account_id=account_id, **values))
    if len(found) <= page.limit:
        return found, total, None
    return found[:-1], total, page.following(found[-2].id)


def rows(
    account_id: str, filters: Filter, limit: int, tx: Transaction, *, offset: int = 0
) -> list[AuditEntryRow]:
    """Returns the first entries of a list, newest first. One statement."""
    names, values = _given(filters)
    found = tx.all(_rows(names), account_id=account_id, limit=limit, offset=offset, **values)
    return [AuditEntryRow._make(row) for row in found]


def _given(filters: Filter) -> tuple[tuple[str, ...], dict[str, str]]:
    values = {name: value for name, value in filters._asdict().items() if value is not None}
    return tuple(values), values


@cache
def _rows(names: tuple[str, ...]) -> Statement:
    def build(dialect: Dialect) -> ModelSelect[AuditEntry]:
        query = AuditEntry.select(*_COLUMNS).where(_matching(names))
        if "resource_id" in names:
            # Otherwise SQLite would read the entries of the account instead of the index.
            ids = AuditEntry.select(AuditEntry.id).where(_matching(("resource_id",)))
            query = query.where(dialect.within(AuditEntry.id, ids))
        query = query.order_by(AuditEntry.account_id.desc(), AuditEntry.id.desc())
        return query.limit(param("limit")).offset(param("offset"))

    return Statement(build)


@cache
def _count(names: tuple[str, ...]) -> Statement:
    return Statement(lambda _: AuditEntry.select(fn.COUNT(AuditEntry.id)).where(_matching(names)))


def _matching(names: tuple[str, ...]) -> Expression:
    """Returns the condition of the filters with these names."""
    condition = _IN_ACCOUNT
    for name in names:
        condition &= _CONDITIONS[name]
    return condition


def has_old(account_id: str, tx: Transaction) -> bool:
    """Whether an account has entries that are no longer retained."""
    return tx.one(_HAS_OLD, account_id=account_id, end_id=_end_of_old(tx)) is not None


def purge(account_id: str, tx: Transaction) -> int:
    """Deletes the entries that are no longer retained, and returns their number."""
    return tx.run(_PURGE, account_id=account_id, end_id=_end_of_old(tx))


def _end_of_old(tx: Transaction) -> str:
    return first_id_at(tx.now - RETENTION_MILLISECONDS)
