"""Only explicit changes make a person mailable: sequences of writes, compared with a model."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.history import Source
from rosterd.server.features.subscribers.row_writer import OnConflict, RowWriter
from rosterd.server.features.subscribers.rules import NewSubscriber
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import add_tags, change_status
from rosterd.server.features.subscribers.store_reading import find
from rosterd.server.features.subscribers.store_suppressed import SuppressedSubscriberStore
from rosterd.server.features.suppressions.rules import NewSuppression, Reason
from rosterd.server.rpc.errors import RosterError
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS, SUBSCRIBERS, SUPPRESSIONS, email, new, profile, select

NAMES = st.sampled_from(["ada", "bob", "eve", "ADA"])
STATUSES = st.sampled_from(Status)
ROWS = st.lists(st.tuples(NAMES, STATUSES, st.booleans()), min_size=1, max_size=4)
# How far mail to a subscriber is allowed.
LEVELS = {Status.UNCONFIRMED: 1, Status.CONFIRMED: 2}
OPTED_OUT = {Status.UNSUBSCRIBED, Status.BOUNCED, Status.COMPLAINED}


def level(status: int) -> int:
    return LEVELS.get(Status(status), 0)


class ConsentAgainstModel(RuleBasedStateMachine):
    """Writes in every way, and compares each status with what was explicitly allowed."""

    tx: Transaction

    @initialize()
    def begin(self) -> None:
        select("SELECT 1", self.tx)
        self.tx._database.execute_sql("SAVEPOINT example")
        # The level that was allowed, by subscriber, and the addresses of persons who opted out.
        self.allowed: dict[str, int] = {}
        self.opted_out: set[str] = set()
        # The addresses that the account suppressed.
        self.suppressed: set[str] = set()

    def teardown(self) -> None:
        self.tx._database.execute_sql("ROLLBACK TO SAVEPOINT example")

    def stored(self) -> dict[str, tuple[str, int]]:
        """Returns the address and the status of each subscriber by ID."""
        query = f"SELECT id, email_key, status FROM subscriber WHERE account_id = '{OURS}'"
        return {id_: (key, status) for id_, key, status in select(query, self.tx)}

    def note_created(self, before: dict[str, tuple[str, int]]) -> None:
        """Allows the first status of new subscribers. None may have an address of an opt-out."""
        for id_, (key, status) in self.stored().items():
            if id_ not in before:
                assert key not in self.opted_out
                self.allowed[id_] = level(status)

    def note_left(self, name: str, status: int) -> None:
        if status in OPTED_OUT:
            self.opted_out.add(email(name).key)

    @rule(name=NAMES, status=st.sampled_from([Status.UNCONFIRMED, Status.CONFIRMED]))
    def create(self, name: str, status: Status) -> None:
        before = self.stored()
        with contextlib.suppress(RosterError):
            SUBSCRIBERS.create(OURS, new(name, status=status), self.tx)
        self.note_created(before)

    @rule(rows=ROWS)
    def bulk(self, rows: list[tuple[str, Status, bool]]) -> None:
        before = self.stored()
        SUBSCRIBERS.create_many(OURS, dict(enumerate(self.new_rows(rows))), self.tx)
        self.note_created(before)

    @rule(rows=ROWS, on_conflict=st.sampled_from(OnConflict))
    def import_(self, rows: list[tuple[str, Status, bool]], on_conflict: OnConflict) -> None:
        before = self.stored()
        writer = RowWriter(OURS, on_conflict, SUBSCRIBERS, Source.IMPORT)
        writer.store_rows(self.new_rows(rows), self.tx)
        self.note_created(before)

    def new_rows(self, rows: list[tuple[str, Status, bool]]) -> list[NewSubscriber]:
        return [
            new(name, "vip", status=status)._replace(has_status=has_status)
            for name, status, has_status in rows
        ]

    @rule(name=NAMES, to=NAMES | st.none())
    def update(self, name: str, to: str | None) -> None:
        with contextlib.suppress(RosterError):
            before = find(OURS, email(name), self.tx)
            changes = Changes(email(to) if to else None, profile("Other"), {"x": "x"})
            row = SUBSCRIBERS.update(OURS, before.id, changes, self.tx)
            if row.email_key != before.email_key:
                assert row.email_key not in self.opted_out
                self.note_left(name, before.status)
                # A bounce belongs to the address, an opt-out and a complaint to the person.
                if before.status == Status.BOUNCED:
                    self.allowed[row.id] = LEVELS[Status.UNCONFIRMED]
                if before.status == Status.CONFIRMED:
                    assert row.status == Status.UNCONFIRMED

    @rule(name=NAMES)
    def tag(self, name: str) -> None:
        with contextlib.suppress(RosterError):
            add_tags(OURS, email(name), {"y": "y"}, self.tx)

    @rule(name=NAMES, status=STATUSES, by_admin=st.booleans())
    def change(self, name: str, status: Status, by_admin: bool) -> None:
        with contextlib.suppress(RosterError):
            row = change_status(
                OURS, email(name), status, self.tx, by_admin=by_admin, suppressions=SUPPRESSIONS
            )
            if row.email_key in self.suppressed:
                assert level(status) <= self.allowed[row.id]
            self.allowed[row.id] = level(status)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        with contextlib.suppress(RosterError):
            row = find(OURS, email(name), self.tx)
            SUBSCRIBERS.delete(OURS, row.id, self.tx)
            self.note_left(name, row.status)

    @rule(name=NAMES, reason=st.sampled_from(Reason))
    def suppress(self, name: str, reason: Reason) -> None:
        key = email(name).key
        SUPPRESSIONS.add(OURS, [NewSuppression(key, reason)], self.tx)
        SuppressedSubscriberStore().opt_out(OURS, {key: reason}, self.tx, is_import=False)
        self.suppressed.add(key)
        self.opted_out.add(key)
        for id_, (stored_key, _) in self.stored().items():
            if stored_key == key:
                self.allowed[id_] = 0

    @rule(name=NAMES)
    def lift(self, name: str) -> None:
        with contextlib.suppress(RosterError):
            SUPPRESSIONS.delete(OURS, email(name).key, self.tx)
            self.opted_out.discard(email(name).key)
            self.suppressed.discard(email(name).key)

    @invariant()
    def is_as_allowed(self) -> None:
        for id_, (_, status) in self.stored().items():
            assert level(status) <= self.allowed[id_]


@pytest.mark.hypothesis
def test_only_explicit_changes_make_a_person_more_mailable(tx: Transaction) -> None:
    ConsentAgainstModel.tx = tx

    run_machine(
        ConsentAgainstModel,
        settings=settings(
            stateful_step_count=100,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
