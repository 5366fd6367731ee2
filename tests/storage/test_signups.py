"""Sign-ups on each database: what they read, and how."""

from __future__ import annotations

import re
from pathlib import Path

from rosterd.server.features.signups.store import SignupStore
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.rules import NewSubscriber
from rosterd.server.features.suppressions.rules import NewSuppression, Reason
from rosterd.server.features.webhooks import store as webhooks
from rosterd.server.security.links import Links
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.emails import Email

from .helpers import ENCRYPTION, OURS, SUBSCRIBERS, SUPPRESSIONS, profile, statements_of
from .recording import RecordingTransaction
from .test_plans import searches

STORE = SignupStore(SUBSCRIBERS, SUPPRESSIONS, Links(ENCRYPTION, "https://news.example.com"))


def person(address: str, status: Status = Status.UNCONFIRMED) -> NewSubscriber:
    return NewSubscriber(Email(address, address), profile(), status, {}, {})


def record_events(tx: Transaction) -> None:
    webhooks.create(
        OURS, webhooks.NewWebhook("https://example.com", "", (), enabled=True), str.encode, tx
    )


def test_sign_ups_that_store_nothing_run_the_same_statements(tx: Transaction) -> None:
    record_events(tx)
    for status in Status:
        SUBSCRIBERS.create(OURS, person(f"{status.name.lower()}@gmail.com", status), tx)
    suppression = NewSuppression("suppressed@gmail.com", Reason.MANUAL)
    SUPPRESSIONS.add(OURS, [suppression], tx)
    STORE.sign_up(OURS, person("unsubscribed@gmail.com"), tx)

    names = ("suppressed", *(status.name.lower() for status in Status))
    counts = {
        name: statements_of(
            tx, lambda name=name: STORE.sign_up(OURS, person(f"{name}@gmail.com"), tx)
        )
        for name in names
    }

    assert set(counts.values()) == {counts["suppressed"]}, counts


def test_statements_find_the_rows_of_one_person_with_an_index(tmp_path: Path) -> None:
    with unit_of_work(f"sqlite:///{tmp_path}/roster.db") as tx:
        record_events(tx)
        rows = [person(f"u.{n}@{'gmail.com' if n % 2 else 'x.de'}") for n in range(500)]
        SUBSCRIBERS.create_many(OURS, dict(enumerate(rows)), tx)
        recording = RecordingTransaction(tx)

        for address in ("u.7@gmail.com", "u7+x@googlemail.com", "u.8@x.de"):
            STORE.sign_up(OURS, person(address), recording)

        read = [s for s in recording.recorded if re.search('FROM "(subscriber|event)"', s.sql)]
        assert len(read) > 6
        for step in read:
            assert "account_id=?" not in searches(step), step
