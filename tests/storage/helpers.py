"""Helpers of the store tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from peewee import SQL

from rosterd import server
from rosterd.server.cli.check import lines
from rosterd.server.features.custom_fields import store as custom_fields
from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.subscribers.fields import NO_PROFILE, Status, SubscriberRow
from rosterd.server.features.subscribers.query.conditions import conditions_of
from rosterd.server.features.subscribers.query.plan import (
    COUNT_ALL,
    Counting,
    Order,
    PagePosition,
    plan_of,
)
from rosterd.server.features.subscribers.query.request import Filter
from rosterd.server.features.subscribers.query.store_pages import (
    SubscriberPage,
    count_parts,
    located_page,
    page_and_parts,
)
from rosterd.server.features.subscribers.query.syntax import parse
from rosterd.server.features.subscribers.query.tree import EVERYONE
from rosterd.server.features.subscribers.rules import NewSubscriber, search_text
from rosterd.server.features.subscribers.store import SubscriberStore
from rosterd.server.features.suppressions.store import Suppressions
from rosterd.server.features.tags.rules import distinct
from rosterd.server.maintenance.check import check_database
from rosterd.server.security.encryption import Encryption
from rosterd.server.storage.databases import bring_up_to_date, transactions
from rosterd.server.storage.statements import Statement
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.database_url import parse_database_url
from rosterd.server.values.emails import Email, key_prefix

OURS, THEIRS = "0" * 26, "1" * 26
ENCRYPTION = Encryption(bytes(range(32)))
SUPPRESSIONS = Suppressions(ENCRYPTION)
SUBSCRIBERS = SubscriberStore(SUPPRESSIONS)


def tree_of(
    text: str = "",
    types: Mapping[str, int] | None = None,
    *,
    tag: str | None = None,
    email: str | None = None,
    q: str | None = None,
    now: int = 0,
    **parameters: Any,
) -> Any:
    """Returns the conditions of a filter expression and of parameters."""
    if q is not None:
        parameters |= {"prefix": key_prefix(q), "folded_prefix": search_text(q)}
    expression = conditions_of(parse(text), types or {}, now) if text else None
    return Filter(tag_key=tag, email_key=email, expression=expression, **parameters).tree()


def email(name: str) -> Email:
    """Returns an address whose key is its lowercase form."""
    return Email(f"{name}@example.com", f"{name.lower()}@example.com")


def profile(first_name: str = "Ada", last_name: str = "Love") -> dict[str, Any]:
    """Returns a profile with empty values for all other fields."""
    return {**NO_PROFILE, "first_name": first_name, "last_name": last_name}


def new(
    name: str = "ada",
    *names: str,
    status: Status = Status.CONFIRMED,
    values: Mapping[str, Any] | None = None,
) -> NewSubscriber:
    """Returns a new subscriber with this address and these tags."""
    return NewSubscriber(email(name), profile(), status, distinct(list(names)), values or {})


def field(
    account: str,
    tx: Transaction,
    key: str = "city",
    label: str | None = None,
    data_type: DataType = DataType.TEXT,
) -> str:
    """Creates a custom field and returns its id."""
    return custom_fields.create(account, key, label or key, data_type, "", tx).id


def page(
    account: str,
    tree: Any,
    position: PagePosition,
    tx: Transaction,
    counting: Counting = COUNT_ALL,
) -> SubscriberPage:
    """Returns a page with its total, also if that is counted in parts."""
    found, parts = page_and_parts(account, plan_of(tree), position, tx, counting)
    numbers = count_parts(account, parts, tx)
    if found is None:
        return located_page(account, parts, numbers, position, tx)
    return found._replace(total=(found.total or 0) + sum(numbers)) if numbers else found


# The key of each order. Subscribers without one follow the others in both directions.
ORDER_KEYS: dict[Order, Callable[[SubscriberRow], Any]] = {
    Order.CREATED: lambda row: row.id,
    Order.UPDATED: lambda row: row.revision,
    Order.EMAIL: lambda row: row.email_key,
    Order.LAST_NAME: lambda row: search_text(row.last_name) or None,
    Order.STATUS_CHANGED: lambda row: row.status_changed_at,
}


def in_order(rows: list[SubscriberRow], order_by: Order, descending: bool) -> list[SubscriberRow]:
    """Returns subscribers in an order, computed in Python."""
    key = ORDER_KEYS[order_by]
    ordered = sorted(
        (row for row in rows if key(row) is not None),
        key=lambda row: (key(row), row.id),
        reverse=descending,
    )
    others = [row for row in rows if key(row) is None]
    return [*ordered, *(others[::-1] if descending else others)]


def after_page(position: PagePosition, found: SubscriberPage) -> PagePosition:
    """Returns the position of the page after a page."""
    last = found.rows[-1]
    key = None if found.is_after_keys else ORDER_KEYS[position.order_by](last)
    return position._replace(after=last.id, after_key=key)


def list_subscribers(
    account: str,
    tx: Transaction,
    tree: Any = EVERYONE,
    position: PagePosition | None = None,
    counting: Counting = COUNT_ALL,
) -> SubscriberPage:
    """Returns a page of subscribers, by default the first 100."""
    return page(account, tree, position or PagePosition(100), tx, counting)


def select(sql: str, tx: Transaction) -> list[tuple[Any, ...]]:
    """Returns the rows of a query."""
    return tx.all(Statement(lambda _: SQL(sql)))


def differences(database_url: str) -> list[str]:
    """Returns what `roster check` finds."""
    bring_up_to_date(database_url)
    with transactions(database_url) as begin:
        return list(lines(check_database(begin, parse_database_url(database_url))))


def dump_tables(tx: Transaction) -> str:
    tables = tx._database.get_tables()
    return repr({name: select(f'SELECT * FROM "{name}"', tx) for name in tables})


def statements_of(tx: Transaction, work: Callable[[], Any]) -> int:
    """Returns the number of statements that the work runs."""
    before = tx.statements
    work()
    return tx.statements - before


def stores() -> list[ModuleType]:
    """Returns all store modules."""
    return modules_named("store*.py")


def modules_named(pattern: str) -> list[ModuleType]:
    """Returns the modules with such a file name in the rooms of `features` and `rpc`."""
    root = Path(server.__file__).parent
    files = (file for folder in ("features", "rpc") for file in root.glob(f"{folder}/*/{pattern}"))
    return [
        import_module(".".join(("rosterd.server", *file.relative_to(root).with_suffix("").parts)))
        for file in sorted(files)
    ]
