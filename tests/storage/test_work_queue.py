"""Tests how an executor shares its threads among groups of work items."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import Mock

from rosterd.server.storage.executor.work_item import GroupLimit, GroupLimits, WorkItem
from rosterd.server.storage.executor.work_queue import FairQueue

ACCOUNT = (GroupLimit("account", 2),)
OTHER = (GroupLimit("other", 2),)


def item(limits: GroupLimits) -> WorkItem[Any]:
    return WorkItem("work", Mock(asyncio.Future), Mock(), limits)


def queue_of(*limits: GroupLimits, max_batch: int = 1) -> FairQueue:
    queue = FairQueue(max_batch)
    for each in limits:
        queue.put([item(each)])
    return queue


def taken(queue: FairQueue) -> GroupLimits:
    (first, *_) = queue.take()
    return first.limits


def test_account_with_many_items_leaves_threads_to_others() -> None:
    queue = queue_of(*[ACCOUNT] * 5, OTHER, ())

    assert [taken(queue) for _ in range(4)] == [ACCOUNT, ACCOUNT, OTHER, ()]
    assert len(queue) == 3


def test_waiting_groups_take_turns() -> None:
    node = GroupLimit("node", 1)
    one, other = (node, *ACCOUNT), (node, *OTHER)
    queue = queue_of(one, one, one, other)

    turns = []
    for _ in range(4):
        batch = queue.take()
        turns.append(batch[0].limits)
        queue.done(batch)

    assert turns == [one, one, other, one]


def test_group_keeps_its_turn_when_more_of_its_items_arrive() -> None:
    node = GroupLimit("node", 1)
    groups = {name: (node, GroupLimit(name, 1)) for name in "abc"}
    queue = queue_of(*[groups[name] for name in "babbcc"])

    turns = []
    for _ in range(5):
        batch = queue.take()
        turns.append(batch[0].limits[-1].group)
        queue.put([item(groups["a"])])
        queue.done(batch)

    assert turns == ["b", "a", "b", "c", "a"]


def test_items_of_a_batch_wait_until_a_thread_takes_it() -> None:
    queue = FairQueue(max_batch=64)
    queue.put([item(ACCOUNT) for _ in range(32)])

    assert len(queue) == 32
    queue.take()
    assert len(queue) == 16
