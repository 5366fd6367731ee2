"""Random operations return equal results on both databases, and these match a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine
from playhouse.apsw_ext import APSWDatabase
from playhouse.postgres_ext import Psycopg3Database

from rosterd.server.features.subscribers.fields import Status, SubscriberRow
from rosterd.server.features.subscribers.query.store_plan import PagePosition
from rosterd.server.features.subscribers.rules import NewSubscriber
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import add_tags, change_status, remove_tags
from rosterd.server.features.tags import store as tags
from rosterd.server.features.tags.rules import distinct
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.databases import bring_up_to_date
from rosterd.server.storage.sqlite import file
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.texts import caseless_key

from .differential_webhooks import NUMBERS, WebhookComparison
from .helpers import (
    OURS,
    SUBSCRIBERS,
    SUPPRESSIONS,
    email,
    list_subscribers,
    profile,
    tree_of,
)

NAMES = st.sampled_from(["ada", "ADA", "bob", "eve", "É", "zoë"])
TAGS = st.lists(st.sampled_from(["vip", "VIP", "new", "ñ", "-"]), max_size=3)
WORDS = st.sampled_from(["Ada", "ada love", "Bob", "", "É"])
VALUES = st.dictionaries(
    st.sampled_from(["city", "size", "gone"]),
    st.one_of(st.none(), st.text(max_size=3), st.floats(-1e9, 1e9)),
    max_size=2,
)
STATUSES = st.sampled_from(list(Status))


class StoreComparison(WebhookComparison):
    """An account whose subscribers, tags and suppressions are mirrored in a model."""

    def __init__(self) -> None:
        super().__init__()
        # The expected IDs by address.
        self.model: dict[str, str] = {}

    def subscriber(self, number: int) -> str:
        """Returns the ID of an existing subscriber, or an unknown ID."""
        ids = sorted(self.model.values())
        return ids[number % len(ids)] if ids else "0" * 26

    def update_model(self, outcome: Any) -> None:
        """Updates the address of a subscriber in the model."""
        if isinstance(outcome, SubscriberRow):
            self.is_new = self.model.get(outcome.email_key) != outcome.id
            self.model = {
                key: subscriber_id
                for key, subscriber_id in self.model.items()
                if subscriber_id != outcome.id
            }
            self.model[outcome.email_key] = outcome.id

    @rule(name=NAMES, names=TAGS, status=STATUSES, values=VALUES)
    def create(self, name: str, names: list[str], status: Status, values: dict[str, Any]) -> None:
        new_row = new_subscriber(name, names, status, values)
        outcome = self.same(lambda tx: SUBSCRIBERS.create(OURS, new_row, tx))
        assert not (new_row.email.key in self.model and isinstance(outcome, SubscriberRow))
        self.update_model(outcome)

    @rule(names=st.lists(NAMES, max_size=4, unique_by=str.lower), tag_names=TAGS, values=VALUES)
    def create_many(self, names: list[str], tag_names: list[str], values: dict[str, Any]) -> None:
        rows = {
            at: new_subscriber(name, tag_names, Status.CONFIRMED, values)
            for at, name in enumerate(names)
        }
        result = self.same(lambda tx: SUBSCRIBERS.create_many(OURS, rows, tx))
        self.is_new = bool(result.ids)
        for at, subscriber_id in result.ids.items():
            assert rows[at].email.key not in self.model
            self.model[rows[at].email.key] = subscriber_id

    @rule(number=NUMBERS, name=st.none() | NAMES, word=st.none() | WORDS, values=VALUES)
    def update(
        self, number: int, name: str | None, word: str | None, values: dict[str, Any]
    ) -> None:
        subscriber_id = self.subscriber(number)
        names = {"first_name": word} if word is not None else {}
        changes = Changes(email(name) if name else None, names, values=values or None)
        self.update_model(
            self.same(lambda tx: SUBSCRIBERS.update(OURS, subscriber_id, changes, tx))
        )

    @rule(number=NUMBERS, status=STATUSES, by_admin=st.booleans())
    def change_status(self, number: int, status: Status, by_admin: bool) -> None:
        subscriber_id = self.subscriber(number)
        self.same(lambda tx: change_status(OURS, subscriber_id, status, tx, by_admin=by_admin))

    @rule(number=NUMBERS, names=TAGS, adds=st.booleans())
    def edit_tags(self, number: int, names: list[str], adds: bool) -> None:
        subscriber_id, tag_names = self.subscriber(number), distinct(names)
        edit = add_tags if adds else remove_tags
        self.same(lambda tx: edit(OURS, subscriber_id, tag_names, tx))

    @rule(number=NUMBERS)
    def delete(self, number: int) -> None:
        deleted_id = self.subscriber(number)
        self.same(lambda tx: SUBSCRIBERS.delete(OURS, deleted_id, tx))
        self.is_new = deleted_id in self.model.values()
        self.model = {
            key: subscriber_id
            for key, subscriber_id in self.model.items()
            if subscriber_id != deleted_id
        }

    @rule(name=st.sampled_from(["vip", "ñ"]), other=st.sampled_from(["VIP", "new", "Ñ"]))
    def rename_tag(self, name: str, other: str) -> None:
        def work(tx: Transaction) -> object:
            tag = tags.ensure(OURS, {caseless_key(name): name}, tx)[caseless_key(name)]
            return tags.update(OURS, tag.id, {"name": other}, tx)

        self.same(work)

    @rule(name=NAMES)
    def lift(self, name: str) -> None:
        self.same(lambda tx: SUPPRESSIONS.delete(OURS, email(name).key, tx))

    @rule(text=st.sampled_from(["a", "É", "ada l", "z", "%"]), status=st.none() | STATUSES)
    def find(self, text: str, status: Status | None) -> None:
        filters = tree_of(q=text) if status is None else tree_of(q=text, status=status)
        self.same(lambda tx: list_subscribers(OURS, tx, filters, PagePosition(3, descending=True)))

    @rule(tag=st.sampled_from(["vip", "ñ", "none"]))
    def find_tagged(self, tag: str) -> None:
        self.same(lambda tx: list_subscribers(OURS, tx, tree_of(tag=caseless_key(tag))))

    @invariant()
    def both_match_the_model(self) -> None:
        found = self.same(lambda tx: list_subscribers(OURS, tx))
        assert {row.email_key: row.id for row in found.rows} == self.model
        assert found.total == len(self.model)
        self.same(lambda tx: tags.page(OURS, Page(1, 100), tx))
        self.same(lambda tx: SUPPRESSIONS.page(OURS, Page(1, 100), tx))


def new_subscriber(
    name: str, names: list[str], status: Status, values: dict[str, Any]
) -> NewSubscriber:
    return NewSubscriber(email(name), profile(name), status, distinct(names), values)


@pytest.fixture
def stores(
    postgres_connection: Psycopg3Database, tmp_path: Any
) -> Iterator[tuple[APSWDatabase, Psycopg3Database]]:
    """A rolled-back transaction on each database."""
    bring_up_to_date(f"sqlite:///{tmp_path}/roster.db")
    with closing(file.connect(tmp_path / "roster.db")) as sqlite:
        yield sqlite, postgres_connection


@pytest.mark.hypothesis
def test_both_databases_agree(stores: tuple[APSWDatabase, Psycopg3Database]) -> None:
    StoreComparison.sqlite, StoreComparison.postgres = stores

    run_machine(
        StoreComparison,
        settings=settings(
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
