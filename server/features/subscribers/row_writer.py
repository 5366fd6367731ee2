"""Stores the rows of a bulk or an import, and returns the outcome of each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import partial
from itertools import repeat
from typing import NamedTuple

from ...storage.transaction import Transaction
from ..custom_fields.rules import check_size, merged
from ..tags.rules import distinct
from . import rules
from .fields import Status, SubscriberRow
from .history import Source
from .rules import Failure, NewSubscriber, RowError, Validated
from .store import Changes, SubscriberStore, row_error_for, without_values
from .store_changes import change_status
from .store_reading import find, ids_by_address
from .store_repeated import record_added_again, record_repeated_opt_outs

# The limits of one transaction. A large transaction amortizes the commit, a small one keeps
# other writers from waiting. The weight of a row is 1 plus its tags and values. A row that may
# update a subscriber costs ten times as much.
MAX_WEIGHT = 4_000
MAX_ROWS = 2_000
MAX_ROWS_OF_AN_UPDATE = 200


# The failures of a row whose address already has a subscriber.
_CONFLICTS = (Failure.ALREADY_EXISTS, Failure.DUPLICATE_IN_REQUEST)
_ALREADY_EXISTS = RowError(Failure.ALREADY_EXISTS, "email")


class OnConflict(IntEnum):
    """What happens to a row whose address already has a subscriber; the numbers of the proto."""

    FAIL = 1
    SKIP = 2
    UPDATE = 3


class Outcome(IntEnum):
    """The outcome of a row; the numbers of Row.Outcome."""

    CREATED = 1
    UPDATED = 2
    SKIPPED = 3
    FAILED = 4


class Result(NamedTuple):
    """The result of a row: its subscriber, or its error.

    `status_kept` is whether the subscriber kept its status instead of that of the row. `dropped`
    are the fields of an opt-out that were not stored. `was_opted_out` is whether the subscriber had
    opted out before the import, and `opted_out` whether the row opted out one who was CONFIRMED.
    """

    outcome: Outcome
    subscriber_id: str = ""
    row_error: RowError | None = None
    status_kept: bool = False
    dropped: Sequence[str] = ()
    was_opted_out: bool = False
    opted_out: bool = False


def _created(ids: Iterable[str]) -> list[Result]:
    # Without the constructor, which takes longer than the rest of a row's result.
    no, nothing = repeat(False), repeat(())
    values = zip(repeat(Outcome.CREATED), ids, repeat(None), no, nothing, no, no)
    return list(map(partial(tuple.__new__, Result), values))


def _opt_outs(
    rows: Mapping[int, NewSubscriber], numbers: Iterable[int]
) -> dict[int, NewSubscriber]:
    return {number: rows[number] for number in numbers if rows[number].is_opt_out}


SKIPPED = Result(Outcome.SKIPPED)
CONFLICT = Result(Outcome.FAILED, row_error=_ALREADY_EXISTS)


class RowWriter:
    """Stores rows for one account.

    A row is a duplicate if an earlier one of the same transaction has its address. Without
    `reports_duplicates`, it fails like a row for an existing subscriber. If rows of an import have
    the same address, the strictest status is stored, for each value of `on_conflict`.
    """

    def __init__(
        self,
        account_id: str,
        on_conflict: OnConflict,
        store: SubscriberStore,
        source: Source,
        *,
        reports_duplicates: bool = False,
        since: int | None = None,
    ) -> None:
        """Subscribers with a revision before `since` were not created by this import.

        Default: the first transaction. It is 0 if an import is resumed that may have created any.
        """
        self._account_id = account_id
        self._source = source
        self.since = since
        self._on_conflict = on_conflict
        self._store = store
        self._reports_duplicates = reports_duplicates

    def chunks(self, lines: Sequence[int], validated: Sequence[Validated]) -> Iterator[slice]:
        """Yields the rows of each transaction, in order.

        The rows of a line are stored together: an import can be continued after any line.
        """
        max_rows = MAX_ROWS_OF_AN_UPDATE if self._on_conflict is OnConflict.UPDATE else MAX_ROWS
        first = weight = 0
        for number, row in enumerate(validated):
            row_weight = 1 if isinstance(row, RowError) else 1 + len(row.tags) + len(row.values)
            weight += row_weight
            is_full = number - first >= max_rows or weight > MAX_WEIGHT
            if number > first and is_full and lines[number] != lines[number - 1]:
                yield slice(first, number)
                first, weight = number, row_weight
        if first < len(validated):
            yield slice(first, len(validated))

    def store_rows(self, validated: Sequence[Validated], tx: Transaction) -> list[Result]:
        """Stores rows and returns their results.

        Of rows with the same address, the first valid one creates the subscriber. The others
        are conflicts.
        """
        rows = {
            number: row for number, row in enumerate(validated) if isinstance(row, NewSubscriber)
        }
        if self.since is None:
            self.since = tx.now * 1000
        stored = self._store.create_many(self._account_id, rows, tx, self._source)
        rows |= stored.reduced
        if len(stored.ids) == len(validated):
            results = _created(stored.ids[number] for number in rows)
        else:
            row_errors = stored.row_errors | {
                number: row for number, row in enumerate(validated) if isinstance(row, RowError)
            }
            by_number = self._resolve_conflicts(rows, row_errors, tx)
            by_number |= zip(stored.ids, _created(stored.ids.values()), strict=True)
            results = [by_number[number] for number in range(len(validated))]
        for number, row in rows.items():
            result = results[number]
            if row.dropped and not result.dropped and result.row_error is None:
                results[number] = result._replace(dropped=row.dropped)
        return results

    def _resolve_conflicts(
        self, rows: Mapping[int, NewSubscriber], row_errors: Mapping[int, RowError], tx: Transaction
    ) -> dict[int, Result]:
        """Returns the results of rows that did not create a subscriber."""
        results = {
            number: SKIPPED
            if error.failure is Failure.SUPPRESSED and rows[number].status in rules.OPTED_OUT
            else Result(
                Outcome.SKIPPED if error.failure is Failure.FILTERED else Outcome.FAILED,
                row_error=error,
            )
            for number, error in row_errors.items()
        }
        conflicts = sorted(
            number for number, error in row_errors.items() if error.failure in _CONFLICTS
        )
        if not self._reports_duplicates or self._on_conflict is not OnConflict.FAIL:
            results |= dict.fromkeys(conflicts, CONFLICT)
        skipped = {
            number: error.opt_out
            for number, error in row_errors.items()
            if error.opt_out is not None
        }
        if self._on_conflict is OnConflict.FAIL:
            skipped |= _opt_outs(rows, conflicts)
            return results | self._apply_opt_outs(skipped, tx)
        # A suppressed address can have a subscriber, who opted out.
        conflicts += [
            number for number, error in row_errors.items() if error.failure is Failure.SUPPRESSED
        ]
        if not conflicts and not skipped:
            return results
        keys = {rows[number].email.key for number in conflicts}
        ids = ids_by_address(self._account_id, keys, tx)
        for number in conflicts:
            subscriber_id = ids.get(rows[number].email.key)
            if subscriber_id is None:  # Deleted in the meantime.
                continue
            if self._on_conflict is OnConflict.UPDATE:
                results[number] = self._update(subscriber_id, rows[number], tx)
            else:
                results[number] = Result(Outcome.SKIPPED, subscriber_id)
        accepted = {
            results[number].subscriber_id
            for number in conflicts
            if results[number].outcome is not Outcome.FAILED and results[number].subscriber_id
        }
        if accepted:
            record_added_again(self._account_id, sorted(accepted), self._source, tx)
        if self._on_conflict is OnConflict.SKIP:
            skipped |= _opt_outs(rows, conflicts)
        return results | self._apply_opt_outs(skipped, tx)

    def _apply_opt_outs(
        self, opt_outs: Mapping[int, NewSubscriber], tx: Transaction
    ) -> dict[int, Result]:
        """Applies opt-outs to subscribers that other rows of this import created or update.

        For others, it records that the opt-out was stated. Returns the results of the rows that
        changed a status.
        """
        results: dict[int, Result] = {}
        repeated: dict[Status, list[SubscriberRow]] = {}
        if self._source is not Source.IMPORT or not opt_outs:
            return results
        ids = ids_by_address(self._account_id, {row.email.key for row in opt_outs.values()}, tx)
        # Updates apply to subscribers that existed before, too.
        since = 0 if self._on_conflict is OnConflict.UPDATE else self.since or 0
        for number, new in sorted(opt_outs.items()):
            subscriber_id = ids.get(new.email.key)
            if subscriber_id is None:
                continue
            before = find(self._account_id, subscriber_id, tx)
            if before.revision < since:
                repeated.setdefault(new.status, []).append(before)
            elif self._make_stricter(before, new, tx):
                opted_out = self._was_confirmed(before)
                results[number] = Result(Outcome.UPDATED, before.id, opted_out=opted_out)
        for status, rows in repeated.items():
            record_repeated_opt_outs(self._account_id, rows, status, self._source, tx)
        return results

    def _make_stricter(self, before: SubscriberRow, new: NewSubscriber, tx: Transaction) -> bool:
        """Changes the status to the status of a row if it is stricter. Returns whether it did."""
        if not rules.is_stricter(new.status, Status(before.status)):
            record_repeated_opt_outs(self._account_id, [before], new.status, self._source, tx)
            return False
        change_status(
            self._account_id,
            before.id,
            new.status,
            tx,
            self._source,
            by_admin=False,
            consent_record=new.consent_record,
        )
        return True

    def _update(self, subscriber_id: str, new: NewSubscriber, tx: Transaction) -> Result:
        """Updates a subscriber with the fields that the row has, and with a stricter status."""
        before = find(self._account_id, subscriber_id, tx)
        tags = {**distinct(list(before.tags)), **new.tags}
        dropped = list(new.dropped)
        if len(tags) > rules.MAX_TAGS:
            if not new.is_opt_out:
                return Result(Outcome.FAILED, row_error=RowError(Failure.INVALID_TAG, "tags"))
            dropped.append("tags")
            tags = {}
        faults = check_size(merged(before.values, new.values), before.values)
        if new.values and faults:
            if not new.is_opt_out:
                return Result(Outcome.FAILED, row_error=row_error_for(faults[0]))
            new = without_values(new, faults)
            dropped = [*dropped, *new.dropped]
        changes = Changes(
            profile={name: each for name, each in new.profile.items() if each not in ("", None)},
            tags=tags if new.tags and tags else None,
            values=new.values or None,
        )
        self._store.change(self._account_id, before, changes, tx, self._source)
        is_stricter = new.has_status and self._make_stricter(before, new, tx)
        return Result(
            Outcome.UPDATED,
            subscriber_id,
            status_kept=new.has_status and new.status != before.status and not is_stricter,
            dropped=dropped,
            was_opted_out=before.status in rules.OPTED_OUT and before.revision < (self.since or 0),
            opted_out=is_stricter and self._was_confirmed(before),
        )

    def _was_confirmed(self, before: SubscriberRow) -> bool:
        """Returns whether a subscriber was CONFIRMED before this import."""
        since = before.status_revision or before.revision
        return before.status == Status.CONFIRMED and since < (self.since or 0)
