"""Runs the work of several calls together, with fewer statements than call by call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .executor.work_item import WorkItem

if TYPE_CHECKING:
    from .transaction import Transaction

Argument = TypeVar("Argument")
Result = TypeVar("Result")
# Runs the work of several calls. Returns a result or an exception for each argument.
RunAll = Callable[[Sequence[Argument], "Transaction"], Sequence[Result | Exception]]


@dataclass(slots=True)
class OneStatement(Generic[Result]):
    """Work that reads with one statement, which needs no transaction.

    A rare second statement can see later changes. It `is_short` if it reads a limited number of
    rows in the order of an index.
    """

    work: Callable[[Transaction], Result]
    is_short: bool = False

    def __call__(self, tx: Transaction) -> Result:
        return self.work(tx)


@dataclass(slots=True)
class SharedWork(Generic[Argument, Result]):
    """Work of one call, which runs together with that of waiting calls of the same actor and key.

    `run_all` has no effect for an argument if it returns an exception for it. If it raises an
    exception, the work of each call runs alone. `has_one_statement` is whether it only looks up
    rows by key, with one statement.
    """

    key: Hashable
    argument: Argument
    run_all: RunAll[Argument, Result]
    has_one_statement: bool = False

    @property
    def is_short(self) -> bool:
        return self.has_one_statement

    def __call__(self, tx: Transaction) -> Result:
        (outcome,) = self.run_all([self.argument], tx)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def has_one_statement(items: Iterable[WorkItem[Any]]) -> bool:
    """Whether no item needs a transaction to read."""
    return all(
        isinstance(item.work, OneStatement)
        or (isinstance(item.work, SharedWork) and item.work.has_one_statement)
        for item in items
    )


def is_short(work: Any) -> bool:
    """Whether work only reads a limited number of rows."""
    return getattr(work, "is_short", False)


def grouped(items: Iterable[WorkItem[Any]]) -> list[list[WorkItem[Any]]]:
    """Returns the items that run together, in the order of the first item of each group."""
    groups: dict[Hashable, list[WorkItem[Any]]] = {}
    for item in items:
        key = (item.work.key, item.actor) if isinstance(item.work, SharedWork) else item
        groups.setdefault(key, []).append(item)
    return list(groups.values())


def run_together(items: Sequence[WorkItem[Any]], tx: Transaction) -> None:
    """Runs the items of a group and sets their outcomes. Raises what the work raises."""
    work, tx.actor, tx.operation_id = items[0].work, items[0].actor, ""
    if len(items) == 1:
        items[0].result = work(tx)
        return
    outcomes = work.run_all([item.work.argument for item in items], tx)
    for item, outcome in zip(items, outcomes, strict=True):
        if isinstance(outcome, Exception):
            item.error = outcome
        else:
            item.result = outcome
