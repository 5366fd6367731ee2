"""Stores the tags and custom field values of subscribers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import orjson

from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ...values.texts import caseless_key
from ..custom_fields.models import CustomValue
from ..tags import store as tags
from ..tags.models import SubscriberTag, Tag
from .counters.store_statistics import StatisticChanges
from .fields import SubscriberRow
from .history import ByOperation, changed_tags
from .value_keys import value_keys

_LINKS_OF_ONE = (SubscriberTag.account_id == param("account_id")) & (
    SubscriberTag.subscriber_id == param("subscriber_id")
)
_ATTACH_ALL = Statement(
    lambda dialect: dialect.insert_all(
        SubscriberTag.account_id, (SubscriberTag.subscriber_id, SubscriberTag.tag_id), "rows"
    ),
    has_one_plan=True,
)
_DETACH_ALL = Statement(
    lambda _: SubscriberTag.delete().where(_LINKS_OF_ONE).returning(SubscriberTag.tag_id),
    has_one_plan=True,
)
_LINKS = Statement(
    lambda dialect: SubscriberTag.select(SubscriberTag.subscriber_id, SubscriberTag.tag_id).where(
        (SubscriberTag.account_id == param("account_id"))
        & dialect.any_of(SubscriberTag.subscriber_id, "ids")
    ),
    has_one_plan=True,
)
_DETACH = Statement(
    lambda dialect: (
        SubscriberTag.delete()
        .where(
            (SubscriberTag.account_id == param("account_id"))
            & dialect.any_of(SubscriberTag.subscriber_id, "ids")
            & SubscriberTag.tag_id.in_(
                Tag.select(Tag.id).where(
                    (Tag.account_id == param("account_id")) & dialect.any_of(Tag.name_key, "keys")
                )
            )
        )
        .returning(SubscriberTag.subscriber_id, SubscriberTag.tag_id)
    ),
    has_one_plan=True,
)
_PUT_VALUES = Statement(
    lambda dialect: dialect.insert_all(
        CustomValue.account_id,
        (
            CustomValue.subscriber_id,
            CustomValue.key,
            CustomValue.value,
            CustomValue.text_key,
            CustomValue.number_key,
        ),
        "rows",
    ),
    has_one_plan=True,
)
_REMOVE_VALUES = Statement(
    lambda dialect: CustomValue.delete().where(
        (CustomValue.account_id == param("account_id"))
        & dialect.any_of(CustomValue.subscriber_id, "ids")
        & dialect.any_of(CustomValue.key, "keys")
    ),
    has_one_plan=True,
)


def attach(
    account_id: str,
    tags_by_id: Sequence[tuple[str, int, Mapping[str, str]]],
    statistics: StatisticChanges,
    tx: Transaction,
) -> Mapping[str, str]:
    """Adds tags to subscribers that do not have them, and creates missing tags.

    Receives the ID and the status of each subscriber, and tag names by key. Returns the stored
    names of all these tags by key. Four statements at most.
    """
    # Rows of an import with equal tags share one mapping.
    different = {id(tag_names): tag_names for *_, tag_names in tags_by_id}
    names: dict[str, str] = {}
    for tag_names in different.values():
        for key, name in tag_names.items():
            names.setdefault(key, name)
    if not names:
        return {}
    stored = tags.ensure(account_id, names, tx)
    tag_ids = {number: [stored[key].id for key in each] for number, each in different.items()}
    links = [(id_, tag_id) for id_, _, each in tags_by_id for tag_id in tag_ids[id(each)]]
    tx.run(_ATTACH_ALL, account_id=account_id, rows=links)
    rows = Counter((status, id(each)) for _, status, each in tags_by_id)
    for (status, number), count in rows.items():
        for tag_id in tag_ids[number]:
            statistics.add_tag(tag_id, status, count)
    return {key: stored[key].name for key in sorted(stored)}


def detach(
    account_id: str,
    rows: Iterable[SubscriberRow],
    keys: Collection[str],
    statistics: StatisticChanges,
    tx: Transaction,
) -> None:
    """Removes the tags with these name keys from subscribers."""
    statuses = {row.id: row.status for row in rows}
    links = tx.all(_DETACH, account_id=account_id, ids=list(statuses), keys=list(keys))
    for subscriber_id, tag_id in links:
        statistics.add_tag(tag_id, statuses[subscriber_id], -1)


def detach_all(
    account_id: str, row: SubscriberRow, statistics: StatisticChanges, tx: Transaction
) -> None:
    for (tag_id,) in tx.all(_DETACH_ALL, account_id=account_id, subscriber_id=row.id):
        statistics.add_tag(tag_id, row.status, -1)


def count_statuses(
    account_id: str,
    changes: Iterable[tuple[SubscriberRow, SubscriberRow]],
    statistics: StatisticChanges,
    tx: Transaction,
) -> None:
    """Counts changes of statuses, given as rows before and after, also for their tags.

    One statement if a subscriber has tags.
    """
    statuses: dict[str, tuple[int, int]] = {}
    for before, row in changes:
        if before.status != row.status:
            statistics.changed(before.status, row.status)
            if row.tags:
                statuses[row.id] = (before.status, row.status)
    if statuses:
        for subscriber_id, tag_id in tx.all(_LINKS, account_id=account_id, ids=list(statuses)):
            before_status, status = statuses[subscriber_id]
            statistics.add_tag(tag_id, before_status, -1)
            statistics.add_tag(tag_id, status, 1)


def of_operation(
    account_id: str,
    changes: Sequence[tuple[SubscriberRow, SubscriberRow]],
    revision: int,
    tx: Transaction,
) -> ByOperation | None:
    """Returns what the history of a change by an operation contains, or None without one."""
    if not tx.operation_id:
        return None
    changed = {name for each in changes for names in changed_tags(*each) for name in names}
    names = {caseless_key(name): name for name in changed}
    found = tags.by_keys(account_id, names, tx) if names else {}
    return ByOperation(revision, {key: tag.id for key, tag in found.items()})


def put_values(
    account_id: str, values_by_id: Sequence[tuple[str, Mapping[str, Any]]], tx: Transaction
) -> None:
    """Inserts values of custom fields. One statement.

    Receives pairs of a subscriber ID and values by key. A value of None is not stored.
    """
    rows = [
        (subscriber_id, key, orjson.dumps(value).decode(), *value_keys(value))
        for subscriber_id, values in values_by_id
        for key, value in values.items()
        if value is not None
    ]
    if rows:
        tx.run(_PUT_VALUES, account_id=account_id, rows=rows)


def replace_values(
    account_id: str, changes: Iterable[tuple[SubscriberRow, SubscriberRow]], tx: Transaction
) -> None:
    """Stores the values of custom fields of subscribers, given before and after a change.

    A statement for each set of changed fields, and one more.
    """
    changed: dict[tuple[str, ...], list[tuple[str, Mapping[str, Any]]]] = {}
    for before, row in changes:
        keys = sorted({*before.values, *row.values})
        values = {
            key: row.values.get(key)
            for key in keys
            if row.values.get(key) != before.values.get(key)
        }
        if values:
            changed.setdefault(tuple(values), []).append((row.id, values))
    for changed_keys, values_by_id in changed.items():
        ids = [id_ for id_, _ in values_by_id]
        tx.run(_REMOVE_VALUES, account_id=account_id, ids=ids, keys=list(changed_keys))
    put_values(account_id, [each for group in changed.values() for each in group], tx)


def merge_values(
    account_id: str, ids: Sequence[str], values: Mapping[str, Any], tx: Transaction
) -> None:
    """Replaces values of custom fields of subscribers; None removes one. Two statements."""
    tx.run(_REMOVE_VALUES, account_id=account_id, ids=ids, keys=list(values))
    put_values(account_id, [(subscriber_id, values) for subscriber_id in ids], tx)
