"""Runs operations in steps, each of which is one transaction.

The next subscribers, or events of a replay, are selected outside of the transactions that process
them. Each step checks again that they match, and skips those that an earlier step has processed, so
that a step can be repeated and several processes can run one operation.

Operations of an account run in the order of their start. A replay whose webhook has many due
deliveries is skipped until they are sent, so that it delays neither new events nor other
operations. Jobs are operations of other features; see `store_jobs`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from operator import eq
from typing import Any, NamedTuple

from peewee import SQL

from ...rpc.errors import (
    DeadlineExceeded,
    RosterError,
    SubscriberNotFound,
    ValidationError,
    WebhookNotFound,
)
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ...values.ids import is_id
from ..custom_fields.store import types as custom_field_types
from ..subscribers.fields import SubscriberRow
from ..subscribers.models import Subscriber
from ..subscribers.query.conditions import conditions_of, search_of
from ..subscribers.query.plan import read_in_order
from ..subscribers.query.store_pages import count_matches, find_matches, ids_after
from ..subscribers.query.syntax import parse
from ..subscribers.query.tree import EVERYONE, And, Condition, Kind, joined, within
from ..subscribers.store_reading import IN_ACCOUNT, find_each
from ..suppressions.store import Suppressions
from . import store
from .replays import Replays
from .rules import BatchRequest, JobRequest, ReplayRequest, State, Type, UndoRequest
from .store import OperationRow, event_key
from .store_actions import ACTIONS, Scope
from .store_jobs import Job, JobStep, Pause
from .store_undo import undo, with_missing

# Milliseconds after which another process continues an operation. If the clock of its process is
# ahead by more, it does so immediately; steps can be repeated.
LEASE_MILLISECONDS = 5_000
# Events of a replay that are selected ahead. Their deliveries are due at once.
MAX_REPLAYED_EVENTS = 500
# Selects the IDs that were stored when an operation started. Processes of an earlier version store
# no revision of the insertion.
_STORED_AT_START = Statement(
    lambda dialect: Subscriber.select(Subscriber.id).where(
        IN_ACCOUNT
        & dialect.any_of(Subscriber.id, "ids")
        & (
            (Subscriber.inserted_revision == SQL("0")) & (Subscriber.id < param("end_id"))
            | Subscriber.inserted_revision.between(SQL("1"), param("revision"))
        )
    ),
    has_one_plan=True,
)


def count_selected(
    account_id: str, tree: Any, excluded: Collection[str], tx: Transaction
) -> tuple[int, int]:
    """Returns the numbers of subscribers that match: without those excluded, and of these."""
    ids = sorted(excluded)
    if tree is EVERYONE:
        left_out = len(find_each(account_id, ids, tx))
    else:
        left_out = len(find_matches(account_id, ids, tree, tx)) if ids else 0
    return count_matches(account_id, tree, tx) - left_out, left_out


class Selection(NamedTuple):
    """The next subscribers of an operation, and whether no others follow.

    Of a replay, `ids` are the keys of events. `up_to` is the last ID of the range if it was
    searched to its end and other ranges follow.
    """

    operation_id: str
    ids: list[str]
    is_last: bool
    up_to: str = ""
    job: OperationRow | None = None


class StepResult(Enum):
    """The state of an operation after a step."""

    CONTINUES = "continues"
    ENDED = "ended"
    TAKEN = "taken by another process"


class StepOutcome(NamedTuple):
    """The result of a step, and the number of subscribers that it processed.

    `row` is a job that continues.
    """

    result: StepResult
    processed: int = 0
    row: OperationRow | None = None


def _next_events(row: OperationRow, request: ReplayRequest, limit: int) -> Selection:
    """Returns the next events of a replay. Their sequence has no gaps."""
    after, until = int(row.after_id), request.until_sequence
    last = min(after + limit, until)
    keys = [event_key(sequence) for sequence in range(after + 1, last + 1)]
    return Selection(row.id, keys, is_last=last >= until)


def _next_subscribers(
    account_id: str, row: OperationRow, limit: int, tx: Transaction, span: int | None
) -> Selection:
    ids = store.selected_ids(account_id, row.id, tx)
    if ids is not None:
        return Selection(row.id, [each for each in ids if each > row.after_id], is_last=True)
    content = row.content
    if isinstance(content, UndoRequest):
        # The step skips those that others changed.
        changed = Condition(Kind.COLUMN, ">=", (content.revision + 1,), "revision")
        tree: Any = read_in_order(changed)
        end_id = content.end_id
    else:
        try:
            tree = tree_of(account_id, row, tx)
        except ValidationError:
            # The step fails for the same reason.
            return Selection(row.id, [], is_last=True)
        # Some were inserted later, with a time of creation in the past. The step skips them.
        end_id = end_id_of(row)
    up_to, after = "", row.after_id or None
    if span is not None:
        among = ids_after(account_id, within(EVERYONE, "<", end_id), after, span, tx)
        if len(among) == span:
            up_to = among[-1]
            # Greater than `up_to`, less than the next ID.
            end_id = f"{up_to}0"
    found = ids_after(account_id, within(tree, "<", end_id), after, limit, tx)
    if len(found) == limit:
        return Selection(row.id, found, is_last=False)
    return Selection(row.id, found, is_last=not up_to, up_to=up_to)


class Steps:
    """Changes the selected subscribers, or counts the changes of a dry run, and delivers events.

    Runs jobs by their types. Those of types that it does not have are left to other processes.
    """

    def __init__(
        self,
        suppressions: Suppressions,
        replays: Replays,
        jobs: Mapping[Type, Job] | None = None,
    ) -> None:
        self._suppressions = suppressions
        self._replays = replays
        self._jobs: Mapping[int, Job] = {int(kind): job for kind, job in (jobs or {}).items()}

    def select_next(
        self, account_id: str, runner: str, limit: int, tx: Transaction, span: int | None = None
    ) -> Selection | None:
        """Returns at most `limit` next subscribers or events of an account.

        With `span`, subscribers are selected among that many of the account. Returns None if all
        operations wait, or if another process runs them.
        """
        row = self._next_operation(account_id, runner, tx)
        if row is None:
            return None
        content = row.content
        if isinstance(content, JobRequest):
            return Selection(row.id, [], is_last=False, job=row)
        if isinstance(content, ReplayRequest):
            return _next_events(row, content, min(limit, MAX_REPLAYED_EVENTS))
        return _next_subscribers(account_id, row, limit, tx, span)

    def run(
        self, account_id: str, selection: Selection, runner: str, tx: Transaction
    ) -> StepOutcome:
        """Processes what is selected and stores the progress. Ends after the last selection."""
        row = store.find(account_id, selection.operation_id, tx)
        if (outcome := _not_run(row, runner, tx)) is not None:
            return outcome
        ids = [each for each in selection.ids if each > row.after_id]
        content, before = row.content, row.processed
        tx.actor, tx.operation_id = content.actor, row.id
        try:
            assert not isinstance(content, JobRequest)
            if isinstance(content, ReplayRequest):
                row = self._deliver(account_id, row, content, ids, tx)
            elif isinstance(content, UndoRequest):
                row = undo(account_id, row, content, ids, self._suppressions, tx)
            else:
                row = self._change(account_id, row, content, ids, tx)
        except (ValidationError, WebhookNotFound) as error:
            _fail(account_id, row, error, tx)
            return StepOutcome(StepResult.ENDED)
        row = row._replace(
            after_id=max(row.after_id, selection.up_to, *ids[-1:]),
            runner=runner,
            updated_at=tx.now,
        )
        processed = row.processed - before
        if selection.is_last:
            if isinstance(content, UndoRequest):
                row = with_missing(row, content)
            store.end(account_id, row, State.SUCCEEDED, tx)
            return StepOutcome(StepResult.ENDED, processed)
        store.put(account_id, row, tx)
        return StepOutcome(StepResult.CONTINUES, processed)

    async def prepare(self, account_id: str, row: OperationRow, pause: Pause) -> JobStep:
        """Prepares the next step of a job."""
        content = row.content
        assert isinstance(content, JobRequest)
        return await self._jobs[content.type].prepare(account_id, row, pause)

    def commit(
        self, account_id: str, before: OperationRow, step: JobStep, runner: str, tx: Transaction
    ) -> StepOutcome:
        """Stores a prepared step of a job, unless another process has continued the job."""
        row = store.find(account_id, before.id, tx)
        if (outcome := _not_run(row, runner, tx)) is not None:
            return outcome
        if (row.after_id, row.processed) != (before.after_id, before.processed):
            return StepOutcome(StepResult.CONTINUES)
        tx.actor, tx.operation_id = row.content.actor, row.id
        row = step.commit(row, tx)._replace(runner=runner, updated_at=tx.now)
        processed = row.processed - before.processed
        if step.is_last:
            store.end(account_id, row, State.SUCCEEDED, tx)
            return StepOutcome(StepResult.ENDED, processed)
        store.put(account_id, row, tx)
        return StepOutcome(StepResult.CONTINUES, processed, row)

    def fail_job(
        self, account_id: str, operation_id: str, error: RosterError, runner: str, tx: Transaction
    ) -> StepOutcome:
        """Ends a job that cannot continue."""
        row = store.find(account_id, operation_id, tx)
        if (outcome := _not_run(row, runner, tx)) is not None:
            return outcome
        tx.actor = row.content.actor
        _fail(account_id, row, error, tx)
        return StepOutcome(StepResult.ENDED)

    def fail(self, account_id: str, runner: str, tx: Transaction) -> None:
        """Ends the next operation of an account, whose subscribers cannot be selected in time."""
        row = self._next_operation(account_id, runner, tx)
        if row is not None and not isinstance(row.content, ReplayRequest):
            tx.actor = row.content.actor
            error = DeadlineExceeded()
            error.message = "The filter takes too long. Use a simpler one."
            _fail(account_id, row, error, tx)

    def _next_operation(self, account_id: str, runner: str, tx: Transaction) -> OperationRow | None:
        """Returns the oldest operation that does not wait; None if another process runs it."""
        for row in store.running(account_id, tx):
            if _is_taken(row, runner, tx):
                return None
            if not self._is_waiting(account_id, row, tx):
                return row
        return None

    def _is_waiting(self, account_id: str, row: OperationRow, tx: Transaction) -> bool:
        content = row.content
        if isinstance(content, JobRequest):
            job = self._jobs.get(content.type)
            return job is None or job.is_waiting(account_id, row, tx)
        if isinstance(content, ReplayRequest):
            return self._replays.is_waiting(account_id, content.webhook_id, tx)
        return False

    def _deliver(
        self,
        account_id: str,
        row: OperationRow,
        request: ReplayRequest,
        keys: Sequence[str],
        tx: Transaction,
    ) -> OperationRow:
        """Creates the deliveries of selected events. Raises WebhookNotFound."""
        if not keys:
            return row
        after, until = int(keys[0]) - 1, int(keys[-1])
        created = self._replays.deliver(account_id, row.id, request, after, until, tx)
        processed, deliveries = row.processed + len(keys), (row.changed or 0) + created
        return row._replace(processed=processed, changed=deliveries)

    def _change(
        self,
        account_id: str,
        row: OperationRow,
        batch: BatchRequest,
        ids: Sequence[str],
        tx: Transaction,
    ) -> OperationRow:
        """Changes selected subscribers. Raises ValidationError if the filter is no longer valid."""
        tree = None if batch.is_of_ids else tree_of(account_id, row, tx)
        excluded = set(batch.excluded_ids)
        ids = [each for each in ids if each not in excluded]
        if not ids:
            return row
        rows = self._matching(account_id, stored_at_start(account_id, row, ids, tx), tree, tx)
        failures, processed = row.failures, len(rows)
        if tree is None:
            processed = len(ids)
            found = {each.id for each in rows}
            for each in ids:
                if each not in found:
                    # Another text could be an address, which is not stored as an example.
                    failures.add(SubscriberNotFound.reason, each if is_id(each) else None)
        outcomes = self._apply(account_id, batch, rows, tx)
        for subscriber, outcome in zip(rows, outcomes, strict=True):
            if isinstance(outcome, RosterError):
                failures.add(outcome.reason, subscriber.id)
        accepted = sum(not isinstance(each, RosterError) for each in outcomes)
        row = _with_counts(row, accepted, sum(map(eq, outcomes, rows)))
        return row._replace(processed=row.processed + processed, failed=failures.as_text())

    def _matching(
        self, account_id: str, ids: Sequence[str], tree: Any, tx: Transaction
    ) -> list[SubscriberRow]:
        if tree is None:
            return list(find_each(account_id, ids, tx).values())
        return find_matches(account_id, ids, tree, tx)

    def _apply(
        self, account_id: str, batch: BatchRequest, rows: list[SubscriberRow], tx: Transaction
    ) -> Sequence[object]:
        """Changes subscribers, unless it is a dry run, and returns the outcome of each.

        See `Action`.
        """
        if not rows:
            return []
        scope = Scope(
            account_id,
            batch.by_admin,
            batch.consent_source,
            batch.revision,
            self._suppressions,
            tx,
        )
        action = ACTIONS[batch.action]
        apply = action.plan if batch.dry_run else action.change
        return apply(scope, rows, batch.value)


def _with_counts(row: OperationRow, accepted: int, unchanged: int) -> OperationRow:
    """Returns an operation with more subscribers, of which some were not changed."""
    if row.changed is None or row.unchanged is None:
        return row
    changed = row.changed + accepted - unchanged
    return row._replace(changed=changed, unchanged=row.unchanged + unchanged)


def _fail(account_id: str, row: OperationRow, error: RosterError, tx: Transaction) -> None:
    """Ends an operation, with a reason for the subscribers that are left."""
    failures = row.failures
    failures.add_many(error.reason, max(row.total - row.processed, 0))
    row = row._replace(failed=failures.as_text())
    store.fail(account_id, row, error.reason, error.message, tx, *error.details)


def end_id_of(row: OperationRow) -> str:
    """Returns a text greater than the IDs of all subscribers at the start."""
    return row.filtered.end_id or row.id


def stored_at_start(
    account_id: str, row: OperationRow, ids: Sequence[str], tx: Transaction
) -> list[str]:
    """Returns the IDs of the subscribers that were stored when the operation started."""
    values = {"ids": ids, "end_id": end_id_of(row), "revision": row.filtered.revision}
    return [id_ for (id_,) in tx.all(_STORED_AT_START, account_id=account_id, **values)]


def tree_of(account_id: str, row: OperationRow, tx: Transaction) -> Any:
    """Returns the conditions of an operation or a job.

    Raises ValidationError if a custom field in it does not exist or has another type.
    """
    batch, types = row.filtered, custom_field_types(account_id, tx)
    parts = [conditions_of(parse(text), types, row.created_at) for text in batch.texts]
    if batch.q:
        parts.append(search_of(batch.q))
    return read_in_order(joined(And, parts))


def _not_run(row: OperationRow, runner: str, tx: Transaction) -> StepOutcome | None:
    """Returns why a step is not run: the operation has ended, or another process runs it."""
    if not row.is_running:
        return StepOutcome(StepResult.ENDED)
    return StepOutcome(StepResult.TAKEN) if _is_taken(row, runner, tx) else None


def _is_taken(row: OperationRow, runner: str, tx: Transaction) -> bool:
    return row.runner not in ("", runner) and abs(tx.now - row.updated_at) < LEASE_MILLISECONDS
