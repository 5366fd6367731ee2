"""Creates, updates and deletes subscribers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...rpc.errors import (
    Detail,
    RosterError,
    SubscriberAlreadyExists,
    SubscriberSuppressed,
    ValidationError,
    invalid,
)
from ...security.links import Links
from ...storage.statements import Statement
from ...storage.transaction import Transaction
from ...values.emails import Email
from ..custom_fields import store as custom_fields
from ..custom_fields.rules import check_size, check_values, merged, with_suggestions
from ..events.rules import EventType, created, deleted
from ..events.store import has_webhooks, record
from ..suppressions.rules import NewSuppression, Reason
from ..suppressions.store import Suppressions
from .counters.store_counting import remove_from_counters
from .counters.store_statistics import StatisticChanges
from .fields import Status, SubscriberRow
from .history import Source
from .linked import LinkedSubscriber, urls_of
from .models import Subscriber
from .rules import (
    NO_VALUES,
    OPTED_OUT,
    Failure,
    NewSubscriber,
    RowError,
    status_at_new_address,
)
from .store_attached import attach, detach_all, merge_values
from .store_changes import store_changes
from .store_inserting import insert
from .store_reading import ONE, Reference, find, ids_by_address
from .store_repeated import record_added_again
from .store_revisions import keep_deleted

# The field whose members are values of custom fields.
_VALUES = "customFields"
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
    """The IDs of the stored rows and the errors of the others, by row index.

    `reduced` are opt-outs without the values that no custom field accepts.
    """

    ids: dict[int, str]
    row_errors: dict[int, RowError]
    reduced: Mapping[int, NewSubscriber]


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
        self, account_id: str, new: NewSubscriber, tx: Transaction, source: Source = Source.API
    ) -> SubscriberRow:
        """Stores a new subscriber and returns it. Raises the errors of `create_each`."""
        (outcome,) = self.create_each(account_id, [new], tx, source)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def create_each(
        self,
        account_id: str,
        new: Sequence[NewSubscriber],
        tx: Transaction,
        source: Source = Source.API,
    ) -> list[SubscriberRow | RosterError]:
        """Stores new subscribers with tags and values. Returns each of them, or its error.

        The errors are ValidationError for values that no custom field accepts,
        SubscriberAlreadyExists, and SubscriberSuppressed. The number of statements is as for
        `create_many`.
        """
        outcomes: dict[int, SubscriberRow | RosterError] = {}
        for index, faults in _invalid_values(account_id, enumerate(new), tx, suggests=True):
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
        stored = dict(insert(account_id, rows, tx, source).rows(rows, source))
        if stored:
            self._record_creations(account_id, stored.values(), tx)
        outcomes |= stored
        return [outcomes.get(index) or SubscriberAlreadyExists() for index in range(len(new))]

    def create_many(
        self,
        account_id: str,
        rows: Mapping[int, NewSubscriber],
        tx: Transaction,
        source: Source = Source.API,
    ) -> CreateManyResult:
        """Stores the valid rows, and returns the errors of the others.

        Of several rows with one address, the first valid one is stored, and later ones are
        DUPLICATE_IN_REQUEST. A rejected row does not claim its address.

        Runs at most twelve statements for any number of rows, one more on SQLite if some of them
        exist, and a few more if a counter bucket is full or opt-outs have suppressed addresses,
        not counting the statements that record events.
        """
        row_errors, reduced = self._invalid_rows(account_id, rows, tx)
        if reduced:
            rows = {**rows, **reduced}
        valid = {index: new for index, new in rows.items() if index not in row_errors}
        first: dict[str, int] = {}
        for index, new in valid.items():
            first.setdefault(new.email.key, index)
        candidates = {index: rows[index] for index in first.values()}
        inserted = insert(account_id, candidates, tx, source)
        created = inserted.ids
        if created:
            stored = (row for _, row in inserted.rows(candidates, source))
            self._record_creations(account_id, stored, tx)
        if len(created) == len(rows):
            return CreateManyResult(created, row_errors, reduced)
        existing = RowError(Failure.ALREADY_EXISTS, "email")
        row_errors |= {index: existing for index in candidates if index not in created}
        duplicate = RowError(Failure.DUPLICATE_IN_REQUEST, "email")
        for index, new in valid.items():
            if index not in row_errors and index not in created:
                # If the address of the first row already existed, so does that of this row.
                row_errors[index] = row_errors.get(first[new.email.key], duplicate)
        return CreateManyResult(created, row_errors, reduced)

    def _invalid_rows(
        self, account_id: str, rows: Mapping[int, NewSubscriber], tx: Transaction
    ) -> tuple[dict[int, RowError], dict[int, NewSubscriber]]:
        """Returns the errors of rows that depend on custom fields and suppressions.

        Also returns opt-outs without the values that would reject them.
        """
        row_errors, reduced = {}, {}
        for index, faults in _invalid_values(account_id, rows.items(), tx):
            if rows[index].is_opt_out:
                reduced[index] = without_values(rows[index], faults)
            else:
                row_errors[index] = row_error_for(faults[0])
        keys = {index: new.email.key for index, new in rows.items() if index not in row_errors}
        suppressed = self._suppressions.suppressed_among(account_id, set(keys.values()), tx)
        if not suppressed:
            return row_errors, reduced
        # An opt-out in another service can be stricter than the stored suppression.
        opt_outs = [
            NewSuppression(key, Reason(rows[index].status))
            for index, key in keys.items()
            if key in suppressed and rows[index].status in OPTED_OUT
        ]
        if opt_outs:
            self._suppressions.add(account_id, opt_outs, tx)
        suppressed_row = RowError(Failure.SUPPRESSED, "email")
        row_errors |= {index: suppressed_row for index, key in keys.items() if key in suppressed}
        return row_errors, reduced

    def update(
        self,
        account_id: str,
        reference: Reference,
        changes: Changes,
        tx: Transaction,
        source: Source = Source.API,
    ) -> SubscriberRow:
        """Changes a subscriber and returns it.

        Raises SubscriberNotFound, ValidationError for values that no custom field accepts, and
        the errors of `change`.
        """
        before = find(account_id, reference, tx)
        self.check_values(account_id, changes.values or {}, tx, before.values)
        return self.change(account_id, before, changes, tx, source)

    def upsert(
        self,
        account_id: str,
        new: NewSubscriber,
        changes: Changes,
        reference: Email,
        tx: Transaction,
        source: Source = Source.API,
    ) -> Upserted:
        """Updates the subscriber with an address, or creates it if there is none.

        Raises ValidationError for `email` if `new` has a different address and there is no
        subscriber, and the errors of `create` and `update`.
        """
        if ids_by_address(account_id, [reference.key], tx):
            row = self.update(account_id, reference, changes, tx, source)
            record_added_again(account_id, [row.id], source, tx)
            return Upserted(row, created=False)
        if new.email.key != reference.key:
            text = "must be the address in the path, because there is no subscriber with it"
            raise invalid("email", "INVALID_VALUE", text)
        return Upserted(self.create(account_id, new, tx, source), created=True)

    def change(
        self,
        account_id: str,
        before: SubscriberRow,
        changes: Changes,
        tx: Transaction,
        source: Source = Source.API,
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
            detach_all(account_id, before, statistics, tx)
            links = [(before.id, before.status, changes.tags)]
            names = attach(account_id, links, statistics, tx)
            row = row._replace(tags=tuple(names.values()))
        (stored,) = store_changes(account_id, [(before, row)], statistics, tx, source)
        return stored

    def _new_address(
        self, account_id: str, before: SubscriberRow, email: Email, tx: Transaction
    ) -> dict[str, Any]:
        """Returns the columns that a new address changes.

        The old address is suppressed if its owner had opted out. Otherwise it could be
        subscribed again despite the opt-out.
        """
        if email.key == before.email_key:
            return {"email": email.address}
        if ids_by_address(account_id, [email.key], tx):
            raise SubscriberAlreadyExists
        if self._suppressions.suppressed_among(account_id, [email.key], tx):
            raise SubscriberSuppressed
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
            detach_all(account_id, row, statistics, tx)
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
        *,
        suggests: bool = True,
    ) -> None:
        """Raises ValidationError for values that no custom field of the account accepts.

        Also raises it if the values, merged into the stored ones, are too large.
        """
        if values:
            types = custom_fields.types(account_id, tx)
            faults = check_values(values, types)
            if suggests:
                faults = with_suggestions(faults, types)
            faults = faults or check_size(merged(stored, values), stored)
            if faults:
                raise ValidationError(faults)

    def _record_creations(
        self, account_id: str, rows: Iterable[SubscriberRow], tx: Transaction
    ) -> None:
        """Records the events of new subscribers. Does not read `rows` without a webhook."""
        if has_webhooks(account_id, tx):
            event_type = EventType.SUBSCRIBER_CREATED
            changes = [created(event_type, self._linked(account_id, row, tx)) for row in rows]
            record(account_id, changes, tx)

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


def _invalid_values(
    account_id: str,
    rows: Iterable[tuple[int, NewSubscriber]],
    tx: Transaction,
    *,
    suggests: bool = False,
) -> Iterator[tuple[int, Sequence[Detail]]]:
    """Yields the faults of values that no custom field of the account accepts."""
    with_values = [(index, new.values) for index, new in rows if new.values]
    types = custom_fields.types(account_id, tx) if with_values else {}
    for index, values in with_values:
        faults: Sequence[Detail] = check_values(values, types) or check_size(values)
        if faults:
            yield index, with_suggestions(faults, types) if suggests else faults


def without_values(new: NewSubscriber, faults: Sequence[Detail]) -> NewSubscriber:
    """Returns a row without the values that have faults, and with their fields as dropped."""
    fields = [fault.field for fault in faults]
    values = {key: value for key, value in new.values.items() if f"{_VALUES}.{key}" not in fields}
    if _VALUES in fields or check_size(values):
        fields, values = [_VALUES], {}
    return new._replace(values=values, dropped=(*new.dropped, *fields))


def row_error_for(fault: Detail) -> RowError:
    """Returns the error of a row for a value that no custom field accepts."""
    unknown = fault.code == "UNKNOWN_FIELD"
    failure = Failure.UNKNOWN_CUSTOM_FIELD if unknown else Failure.INVALID_CUSTOM_FIELD
    return RowError(failure, fault.field)
