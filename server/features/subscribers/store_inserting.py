"""Inserts new subscribers with their tags and values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from peewee import Node

from ...storage.statements import Dialect, Statement
from ...storage.transaction import Transaction
from ...values.emails import unicode_keys
from ...values.ids import ids_at, timestamp_of, timestamps_of
from .counters.store_counting import add_to_counters
from .counters.store_statistics import StatisticChanges
from .fields import PROFILE, Status, SubscriberRow
from .history import Source, origin
from .models import Subscriber
from .rules import ConsentRecord, NewSubscriber, SearchKeys, search_keys
from .store_attached import attach, put_values
from .store_reading import IN_ACCOUNT
from .store_revisions import next_revision, revision_at

# The columns that an import can state, besides the time of creation.
STATED = ConsentRecord._fields[1:]
# The columns of new rows that are null in most of them.
_RARE_NAMES = ("email_unicode_key", *(name for name in STATED if name != "confirmed_at"))
# The other columns of new rows, apart from the revision.
_COMMON_NAMES = (
    "id",
    "created_at",
    "email",
    "email_key",
    "status",
    *PROFILE,
    *SearchKeys._fields,
    "origin",
    "confirmed_at",
)
_profile_values = itemgetter(*PROFILE)


def _insert_all(dialect: Dialect, names: Sequence[str]) -> Node:
    columns = [getattr(Subscriber, name) for name in names]
    insert = dialect.insert_all(
        Subscriber.account_id,
        columns,
        "rows",
        shared=(Subscriber.revision, Subscriber.inserted_revision),
    )
    return insert if dialect.counts_inserted_rows else insert.returning(Subscriber.id)


_INSERT_ALL_COLUMNS = Statement(
    lambda dialect: _insert_all(dialect, (*_COMMON_NAMES, *_RARE_NAMES)), has_one_plan=True
)
# Each column takes time (`bulk_of_100` in `make bench`).
_INSERT_COMMON_COLUMNS = Statement(
    lambda dialect: _insert_all(dialect, _COMMON_NAMES), has_one_plan=True
)
_STORED = Statement(
    lambda dialect: Subscriber.select(Subscriber.id).where(
        IN_ACCOUNT & dialect.any_of(Subscriber.id, "ids")
    ),
    has_one_plan=True,
)


class Inserted(NamedTuple):
    """The IDs of stored subscribers by index, their revision, and the names of tags by key."""

    ids: dict[int, str]
    revision: int = 0
    names: Mapping[str, str] = {}

    def rows(
        self, new: Mapping[int, NewSubscriber], source: Source
    ) -> Iterator[tuple[int, SubscriberRow]]:
        """Yields the stored subscribers by index."""
        for index, subscriber_id in self.ids.items():
            tags = tuple(self.names[key] for key in sorted(new[index].tags))
            yield index, _new_row(subscriber_id, new[index], self.revision, source, tags)


def insert(
    account_id: str, new: Mapping[int, NewSubscriber], tx: Transaction, source: Source
) -> Inserted:
    """Stores valid subscribers with different addresses, except existing ones."""
    if not new:
        return Inserted({})
    revision = next_revision(account_id, tx)
    new_ids, times = _new_ids(list(new.values()), revision, tx)
    revision = revision_at(max(new_ids), revision)
    statement, rows = _new_rows(new_ids, times, list(new.values()), tx, source)
    stored_ids = tx.insert(
        statement,
        _STORED,
        new_ids,
        account_id=account_id,
        rows=rows,
        revision=revision,
        inserted_revision=revision,
    )
    stored = {index: id_ for index, id_ in zip(new, new_ids, strict=True) if id_ in stored_ids}
    if not stored:
        return Inserted({})
    add_to_counters(account_id, sorted(stored.values()), tx)
    put_values(account_id, [(id_, new[index].values) for index, id_ in stored.items()], tx)
    statistics = StatisticChanges(tx.now)
    tags = [(id_, int(new[index].status), new[index].tags) for index, id_ in stored.items()]
    names = attach(account_id, tags, statistics, tx)
    for status, count in Counter(new[index].status for index in stored).items():
        statistics.created(status, count, imported=source is Source.IMPORT)
    statistics.store(account_id, tx)
    return Inserted(stored, revision, names)


def _new_ids(
    rows: Sequence[NewSubscriber], revision: int, tx: Transaction
) -> tuple[list[str], list[int]]:
    """Returns an ID for each row, and the times of their creation, which are those of the IDs.

    Rows with the same time keep the order of their import, because later transactions have
    greater revisions.
    """
    stated = [new.consent_record.created_at for new in rows]
    past = [time for time in stated if time is not None and time < tx.now]
    later = tx.new_ids(len(rows) - len(past)) if len(past) < len(rows) else []
    later_times = timestamps_of(later)
    if not past:
        return later, later_times
    past_pairs = zip(ids_at(past, revision), past, strict=True)
    later_pairs = zip(later, later_times, strict=True)
    pairs = [
        next(past_pairs if time is not None and time < tx.now else later_pairs) for time in stated
    ]
    ids, times = zip(*pairs, strict=True)
    return list(ids), list(times)


def _new_row(
    subscriber_id: str,
    new: NewSubscriber,
    revision: int,
    source: Source,
    tags: tuple[str, ...],
) -> SubscriberRow:
    values = {key: value for key, value in new.values.items() if value is not None}
    created_at = timestamp_of(subscriber_id)
    columns = {**new.profile, **new.consent_record._asdict()}
    columns |= {"created_at": created_at, "confirmed_at": _confirmed_at(created_at, new, source)}
    return SubscriberRow(
        id=subscriber_id,
        email=new.email.address,
        email_key=new.email.key,
        status=int(new.status),
        revision=revision,
        status_revision=0,
        tags=tags,
        values=values,
        **columns,
    )


def _confirmed_at(created_at: int, new: NewSubscriber, source: Source) -> int | None:
    """Returns the time of the confirmation to store.

    A subscriber that is created as CONFIRMED was confirmed at that time. For an imported
    subscriber, only the time in the row is stored.
    """
    stated = new.consent_record.confirmed_at
    if stated or source is Source.IMPORT or new.status is not Status.CONFIRMED:
        return stated
    return created_at


def _new_rows(
    ids: Sequence[str],
    times: Sequence[int],
    new: Sequence[NewSubscriber],
    tx: Transaction,
    source: Source,
) -> tuple[Statement, Sequence[tuple[Any, ...]]]:
    """Returns the statement that inserts subscribers, and its rows in the order of their keys.

    The rows are built by column, which is faster (`import` and `bulk_of_100` in `make bench`).
    """
    addresses, keys = zip(*[each.email for each in new], strict=True)
    statuses = [int(each.status) for each in new]
    profiles = zip(*[_profile_values(each.profile) for each in new], strict=True)
    profile = dict(zip(PROFILE, profiles, strict=True))
    # Indexed by number: enum members are slow dictionary keys.
    about = (tx.now, source, tx.actor, tx.operation_id)
    origins = ["", *(origin(status, *about) for status in Status)]
    records = zip(*[each.consent_record for each in new], strict=True)
    _, status_changed_at, _, *other_times_and_consent = records
    columns = [
        ids,
        times,
        addresses,
        keys,
        statuses,
        *profile.values(),
        *zip(*map(search_keys, profile["first_name"], profile["last_name"]), strict=True),
        [origins[status] for status in statuses],
        [_confirmed_at(time, each, source) for time, each in zip(times, new, strict=True)],
    ]
    # In the order of `_RARE_NAMES`.
    rare = (unicode_keys(keys), status_changed_at, *other_times_and_consent)
    has_rare = any(column.count(None) < len(new) for column in rare)
    statement = _INSERT_ALL_COLUMNS if has_rare else _INSERT_COMMON_COLUMNS
    rows = zip(*columns, *(rare if has_rare else ()), strict=True)
    return statement, sorted(rows, key=itemgetter(0))
