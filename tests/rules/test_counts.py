"""Counts and values by key that do not grow."""

from __future__ import annotations

from rosterd.server.values.counts import RecentlyUsed, RunningCounts


def test_counts_of_nothing_are_removed() -> None:
    running: RunningCounts[str] = RunningCounts()

    with running.one("a"), running.one("a"):
        assert running == {"a": 2}

    assert not list(running)
    assert running["a"] == 0


def test_use_removes_values_that_were_used_longest_ago_if_they_are_over() -> None:
    values: RecentlyUsed[str, int] = RecentlyUsed()
    for key in "abcd":
        values.use(key, 1, lambda _: False)

    values.use("a", 2, lambda value: value == 1)
    assert list(values) == ["d", "a"]
    values.use("e", 2, lambda value: value == 2)

    assert list(values) == ["d", "e"]
