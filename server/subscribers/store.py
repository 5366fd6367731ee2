"""Creates, updates and deletes subscribers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from peewee import Field, Node

from ..custom_fields import store as custom_fields
from ..custom_fields.rules import check_size, check_values, merged
from ..emails import Email, unicode_key
from ..errors import (
    Detail,
    RosterError,
    SubscriberAlreadyExists,
    SubscriberSuppressed,
    ValidationError,
    invalid,
)
from ..events.rules import EventType, created, deleted
from ..events.store import has_webhooks, record
from ..ids import ids_at, timestamp_of
from ..links import Links
from ..storage.statements import Dialect, Statement, param
from ..storage.transaction import Transaction
from ..suppressions.rules import NewSuppression, Reason
from ..suppressions.store import Suppressions
from .counters.store_counting import add_to_counters, remove_from_counters
from .counters.store_statistics import StatisticChanges
from .fields import PROFILE, Status, SubscriberRow
from .history import API, Actor, Source, origin
from .linked import LinkedSubscriber, urls_of
from .models import Subscriber
from .rules import (
    NO_CONSENT_RECORD,
    NO_VALUES,
    OPTED_OUT,
    ConsentRecord,
    Failure,
    NewSubscriber,
    RowError,
    SearchKeys,
    search_keys,
    status_at_new_address,
)
from .store_attached import attach, detach_all, merge_values, put_values
from .store_changes import check_suppressed, store_change
from .store_reading import IN_ACCOUNT, ONE, Reference, find
from .store_revisions import keep_deleted, next_revision, revision_at

# The columns that an import can state, besides the time of creation.
STATED = ConsentRecord._fields[1:]
# The columns of every new row in the order of `_new_columns`, apart from the revision.
_COLUMN_NAMES = (
    "id",
    "created_at",
    "email",
    "email_key",
    "email_unicode_key",
    "status",
    *PROFILE,
    *SearchKeys._fields,
    "origin",
)
_COLUMNS = tuple(getattr(Subscriber, name) for name in _COLUMN_NAMES)
_STATED_COLUMNS = tuple(getattr(Subscriber, name) for name in STATED)
_ALL_COLUMNS = (Subscriber.account_id, Subscriber.revision, *_COLUMNS, *_STATED_COLUMNS)
_profile_values = itemgetter(*PROFILE)
# Of a consent record.
_stated_values = itemgetter(slice(1, None))
_only_confirmed_at = itemgetter(slice(2, 3))

_BY_EMAIL_KEY = Statement(
    lambda _: Subscriber.select(Subscriber.id).where(
        IN_ACCOUNT & (Subscriber.email_key == param("email_key"))
    ),
    has_one_plan=True,
)


def _insert_all(dialect: Dialect, columns: Sequence[Field]) -> Node:
    insert = dialect.insert_all(
        Subscriber.account_id, (*_COLUMNS, *columns), "rows", shared=(Subscriber.revision,)
    )
    return insert.returning(Subscriber.id)


_INSERT_STATED = Statement(lambda dialect: _insert_all(dialect, _STATED_COLUMNS), has_one_plan=True)
# For rows that state nothing. Each column takes time (`bulk_of_100` in `make bench`).
_INSERT_NEW = Statement(
    lambda dialect: _insert_all(dialect, (Subscriber.confirmed_at,)), has_one_plan=True
)
_DELETE = Statement(lambda _: Subscriber.delete().where(ONE), has_one_plan=True)


class Changes(NamedTuple):
    """The changes of an update. None keeps what is stored.

    `profile` has only the changed fields. `values` are merged into the stored ones.
    """

    email: Email | None = None
    profile: Mapping[str, Any] = {}
    tags: Mapping[str, str] | None = None
    values: Mapping[str, Any] | None = None

    @property
    def has_profile_only(self) -> bool:
        return self.email is None and self.tags is None and self.values is None


class CreateManyResult(NamedTuple):
    """The IDs of the stored rows and the errors of the others, by row index."""

    ids: dict[int, str]
    row_errors: dict[int, RowError]


class Upserted(NamedTuple):
    """A subscriber, and whether it was created rather than updated."""

    row: SubscriberRow
    created: bool


class SubscriberStore:
    """Writes the subscribers of all accounts and enforces suppressions.

    With `links`, the events of creations contain the links of the subscribers.
    """

    def __init__(self, suppressions: Suppressions, links: Links | None = None) -> None:
        self._suppressions = suppressions
        self._links = links

    def create(
        self, account_id: str, new: NewSubscriber, tx: Transaction, by: Actor = API
    ) -> SubscriberRow:
        """Stores a new subscriber and returns it. Raises the errors of `create_each`."""
        (outcome,) = self.create_each(account_id, [new], tx, by)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def create_each(
        self, account_id: str, new: Sequence[NewSubscriber], tx: Transaction, by: Actor = API
    ) -> list[SubscriberRow | RosterError]:
        """Stores new subscribers with tags and values. Returns each of them, or its error.

        The errors are ValidationError for values that no custom field accepts,
        SubscriberAlreadyExists, and SubscriberSuppressed. The number of statements is as for
        `create_many`.
        """
        outcomes: dict[int, SubscriberRow | RosterError] = {}
        for index, faults in _invalid_values(account_id, enumerate(new), tx):
            outcomes[index] = ValidationError(faults)
        keys = {each.email.key for index, each in enumerate(new) if index not in outcomes}
        suppressed = self._suppressions.suppressed_among(account_id, keys, tx)
        candidates: dict[str, int] = {}
        for index, each in enumerate(new):
            if index in outcomes:
                continue
            if each.email.key in suppressed:
                outcomes[index] = SubscriberSuppressed()
            else:
                candidates.setdefault(each.email.key, index)
        rows = {index: new[index] for index in candidates.values()}
        inserted = self._insert(account_id, rows, tx, by)
        for index, subscriber_id in inserted.ids.items():
            outcomes[index] = inserted.row(subscriber_id, new[index], by)
        return [outcomes.get(index) or SubscriberAlreadyExists() for index in range(len(new))]

    def create_many(
        self,
        account_id: str,
        rows: Mapping[int, NewSubscriber],
        tx: Transaction,
        by: Actor = API,
    ) -> CreateManyResult:
        """Stores the valid rows, and returns the errors of the others.

        Of several rows with one address, the first valid one is stored, and later ones are
        DUPLICATE_IN_REQUEST. A rejected row does not claim its address.

        Runs at most twelve statements for any number of rows, a few more if a counter bucket is
        full, and those that record events.
        """
        row_errors = self._invalid_rows(account_id, rows, tx)
        first: dict[str, int] = {}
        for index, new in rows.items():
            if index not in row_errors:
                first.setdefault(new.email.key, index)
        candidates = {index: rows[index] for index in first.values()}
        created = self._insert(account_id, candidates, tx, by).ids
        existing = RowError(Failure.ALREADY_EXISTS, "email")
        row_errors |= {index: existing for index in candidates if index not in created}
        duplicate = RowError(Failure.DUPLICATE_IN_REQUEST, "email")
        for index, new in rows.items():
            if index not in row_errors and index not in created:
                # If the address of the first row already existed, so does that of this row.
                row_errors[index] = row_errors.get(first[new.email.key], duplicate)
        return CreateManyResult(created, row_errors)

    def _invalid_rows(
        self, account_id: str, rows: Mapping[int, NewSubscriber], tx: Transaction
    ) -> dict[int, RowError]:
        """Returns the errors of rows that depend on custom fields and suppressions."""
        row_errors = {
            index: row_error_for(faults[0])
            for index, faults in _invalid_values(account_id, rows.items(), tx)
        }
        keys = {index: new.email.key for index, new in rows.items() if index not in row_errors}
        suppressed = self._suppressions.suppressed_among(account_id, set(keys.values()), tx)
        suppressed_row = RowError(Failure.SUPPRESSED, "email")
        return row_errors | {
            index: suppressed_row for index, key in keys.items() if key in suppressed
        }

    def update(
        self,
        account_id: str,
        reference: Reference,
        changes: Changes,
        tx: Transaction,
        by: Actor = API,
    ) -> SubscriberRow:
        """Changes a subscriber and returns it.

        Raises SubscriberNotFound, ValidationError for values that no custom field accepts, and
        the errors of `change`.
        """
        before = find(account_id, reference, tx)
        self.check_values(account_id, changes.values or {}, tx, before.values)
        return self.change(account_id, before, changes, tx, by)

    def upsert(
        self,
        account_id: str,
        new: NewSubscriber,
        changes: Changes,
        reference: Email,
        tx: Transaction,
        by: Actor = API,
    ) -> Upserted:
        """Updates the subscriber with an address, or creates it if there is none.

        Raises ValidationError for `email` if `new` has a different address and there is no
        subscriber, and the errors of `create` and `update`.
        """
        if tx.scalar(_BY_EMAIL_KEY, account_id=account_id, email_key=reference.key):
            return Upserted(self.update(account_id, reference, changes, tx, by), created=False)
        if new.email.key != reference.key:
            text = "must be the address in the path, because there is no subscriber with it"
            raise invalid("email", "INVALID_VALUE", text)
        return Upserted(self.create(account_id, new, tx, by), created=True)

    def change(
        self,
        account_id: str,
        before: SubscriberRow,
        changes: Changes,
        tx: Transaction,
        by: Actor = API,
    ) -> SubscriberRow:
        """Changes a subscriber to values that were checked against the custom fields.

        A different address resets the status, see `status_at_new_address`; the same address in
        another spelling does not. Raises SubscriberAlreadyExists if another
        subscriber has the address, or SubscriberSuppressed.
        """
        address = self._new_address(account_id, before, changes.email, tx) if changes.email else {}
        row = before._replace(**changes.profile, **address)
        statistics = StatisticChanges(tx.now)
        if changes.values:
            merge_values(account_id, [before.id], changes.values, tx)
            row = row._replace(values=merged(before.values, changes.values))
        if changes.tags is not None:
            detach_all(account_id, before.id, statistics, tx)
            names = attach(account_id, [(before.id, changes.tags)], statistics, tx)
            row = row._replace(tags=tuple(names.values()))
        return store_change(account_id, before, row, statistics, tx, by)

    def _new_address(
        self, account_id: str, before: SubscriberRow, email: Email, tx: Transaction
    ) -> dict[str, Any]:
        """Returns the columns that a new address changes.

        The old address is suppressed if its owner had opted out. Otherwise it could be
        subscribed again despite the opt-out.
        """
        if email.key == before.email_key:
            return {"email": email.address}
        if tx.scalar(_BY_EMAIL_KEY, account_id=account_id, email_key=email.key):
            raise SubscriberAlreadyExists
        check_suppressed(account_id, email.key, self._suppressions, tx)
        self._suppress_if_opted_out(account_id, before, tx)
        status = int(status_at_new_address(Status(before.status)))
        return {"email": email.address, "email_key": email.key, "status": status}

    def delete(self, account_id: str, reference: Reference, tx: Transaction) -> str:
        """Deletes a subscriber with all that belongs to it, and returns its ID.

        Raises SubscriberNotFound.
        """
        row = find(account_id, reference, tx)
        self._suppress_if_opted_out(account_id, row, tx)
        statistics = StatisticChanges(tx.now)
        if row.tags:
            detach_all(account_id, row.id, statistics, tx)
        tx.run(_DELETE, account_id=account_id, id=row.id)
        keep_deleted(account_id, row.revision, tx)
        remove_from_counters(account_id, row.id, tx)
        statistics.deleted(row.status)
        statistics.store(account_id, tx)
        record(account_id, [deleted(EventType.SUBSCRIBER_DELETED, row)], tx)
        return row.id

    @staticmethod
    def check_values(
        account_id: str,
        values: Mapping[str, Any],
        tx: Transaction,
        stored: Mapping[str, Any] = NO_VALUES,
    ) -> None:
        """Raises ValidationError for values that no custom field of the account accepts.

        Also raises it if the values, merged into the stored ones, are too large.
        """
        if values:
            faults: Sequence[Detail] = check_values(values, custom_fields.types(account_id, tx))
            faults = faults or check_size(merged(stored, values), stored)
            if faults:
                raise ValidationError(faults)

    def _insert(
        self, account_id: str, new: Mapping[int, NewSubscriber], tx: Transaction, by: Actor
    ) -> _Inserted:
        """Stores valid subscribers with different addresses, except those that exist already.

        Records their events.
        """
        inserted = _insert(account_id, new, tx, by)
        if inserted.ids and has_webhooks(account_id, tx):
            rows = [inserted.row(id_, new[index], by) for index, id_ in inserted.ids.items()]
            changes = [
                created(EventType.SUBSCRIBER_CREATED, self._linked(account_id, row, tx))
                for row in rows
            ]
            record(account_id, changes, tx)
        return inserted

    def _linked(
        self, account_id: str, row: SubscriberRow, tx: Transaction
    ) -> LinkedSubscriber | SubscriberRow:
        """Returns a subscriber as the resource of the event of its creation."""
        if self._links is None or not self._links.has_url:
            return row
        return LinkedSubscriber(row, urls_of(account_id, row, self._links, tx.now))

    def _suppress_if_opted_out(self, account_id: str, row: SubscriberRow, tx: Transaction) -> None:
        if row.status in OPTED_OUT:
            suppression = NewSuppression(row.email_key, Reason(row.status))
            self._suppressions.add(account_id, [suppression], tx)


class _Inserted(NamedTuple):
    """The IDs of stored subscribers by index, their revision, and the names of tags by key."""

    ids: dict[int, str]
    revision: int = 0
    names: Mapping[str, str] = {}

    def row(self, subscriber_id: str, new: NewSubscriber, by: Actor) -> SubscriberRow:
        tags = tuple(self.names[key] for key in sorted(new.tags))
        return _new_row(subscriber_id, new, self.revision, by, tags)


def _insert(
    account_id: str, new: Mapping[int, NewSubscriber], tx: Transaction, by: Actor
) -> _Inserted:
    """Stores valid subscribers with different addresses, except those that exist already."""
    if not new:
        return _Inserted({})
    revision = next_revision(account_id, tx)
    new_ids = _new_ids(list(new.values()), revision, tx)
    ids = dict(zip(new, new_ids, strict=True))
    revision = revision_at(max(new_ids), revision)
    has_records = any(each.consent_record is not NO_CONSENT_RECORD for each in new.values())
    insert, stated_of = (
        (_INSERT_STATED, _stated_values) if has_records else (_INSERT_NEW, _only_confirmed_at)
    )
    origins = {status: origin(status, tx.now, by) for status in Status}
    values = [
        _new_columns(id_, each, by, origins[each.status], stated_of)
        for id_, each in zip(new_ids, new.values(), strict=True)
    ]
    rows = tx.all(insert, account_id=account_id, rows=values, revision=revision)
    stored_ids = {subscriber_id for (subscriber_id,) in rows}
    stored = {index: id_ for index, id_ in ids.items() if id_ in stored_ids}
    if not stored:
        return _Inserted({})
    add_to_counters(account_id, sorted(stored.values()), tx)
    put_values(account_id, [(id_, new[index].values) for index, id_ in stored.items()], tx)
    statistics = StatisticChanges(tx.now)
    tags = [(id_, new[index].tags) for index, id_ in stored.items()]
    names = attach(account_id, tags, statistics, tx)
    for status, count in Counter(new[index].status for index in stored).items():
        statistics.created(status, count)
    statistics.store(account_id, tx)
    return _Inserted(stored, revision, names)


def _invalid_values(
    account_id: str, rows: Iterable[tuple[int, NewSubscriber]], tx: Transaction
) -> Iterator[tuple[int, Sequence[Detail]]]:
    """Yields the faults of values that no custom field of the account accepts."""
    with_values = [(index, new.values) for index, new in rows if new.values]
    types = custom_fields.types(account_id, tx) if with_values else {}
    for index, values in with_values:
        faults: Sequence[Detail] = check_values(values, types) or check_size(values)
        if faults:
            yield index, faults


def row_error_for(fault: Detail) -> RowError:
    """Returns the error of a row for a value that no custom field accepts."""
    unknown = fault.code == "UNKNOWN_FIELD"
    failure = Failure.UNKNOWN_CUSTOM_FIELD if unknown else Failure.INVALID_CUSTOM_FIELD
    return RowError(failure, fault.field)


def _new_ids(rows: Sequence[NewSubscriber], revision: int, tx: Transaction) -> list[str]:
    """Returns an ID for each row, with the time of its creation.

    Rows with the same time keep the order of their import, because later transactions have
    greater revisions.
    """
    times = [new.consent_record.created_at for new in rows]
    if all(time is None for time in times):
        return tx.new_ids(len(rows))
    past = {index: time for index, time in enumerate(times) if time is not None and time < tx.now}
    ids = dict(zip(past, ids_at(list(past.values()), revision), strict=True))
    later = iter(tx.new_ids(len(rows) - len(past)))
    return [ids.get(index) or next(later) for index in range(len(rows))]


def _new_row(
    subscriber_id: str,
    new: NewSubscriber,
    revision: int,
    by: Actor,
    tags: tuple[str, ...] = (),
) -> SubscriberRow:
    values = {key: value for key, value in new.values.items() if value is not None}
    created_at = timestamp_of(subscriber_id)
    columns = {**new.profile, **_consent_record(created_at, new, by)._asdict()}
    return SubscriberRow(
        id=subscriber_id,
        email=new.email.address,
        email_key=new.email.key,
        status=int(new.status),
        revision=revision,
        tags=tags,
        values=values,
        **columns | {"created_at": created_at},
    )


def _consent_record(created_at: int, new: NewSubscriber, by: Actor) -> ConsentRecord:
    """Returns the times and the consent to store.

    A subscriber that is created as CONFIRMED was confirmed at that time. For an imported
    subscriber, only the values in the row are stored.
    """
    record = new.consent_record
    if by.source is Source.IMPORT or new.status is not Status.CONFIRMED or record.confirmed_at:
        return record
    return record._replace(confirmed_at=created_at)


def _new_columns(
    subscriber_id: str,
    new: NewSubscriber,
    by: Actor,
    origin_: str,
    stated_of: Callable[[ConsentRecord], Sequence[Any]],
) -> tuple[Any, ...]:
    """Returns the values of `_COLUMN_NAMES` for a bulk insert, and those that it states."""
    profile, key = new.profile, new.email.key
    created_at = timestamp_of(subscriber_id)
    return (
        subscriber_id,
        created_at,
        new.email.address,
        key,
        unicode_key(key),
        new.status,
        *_profile_values(profile),
        *search_keys(profile["first_name"], profile["last_name"]),
        origin_,
        *stated_of(_consent_record(created_at, new, by)),
    )
