"""Runs all cases of a table as one test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest


def each(name: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a test that runs for each case, and reports the case that fails.

    It replaces pytest.mark.parametrize for large tables of cheap cases, because collecting and
    reporting a test takes longer than most of their assertions.
    """
    cases = list(cases)
    assert cases, name

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @wraps(test)
        def run(**fixtures: Any) -> None:
            for case in cases:
                try:
                    test(**fixtures, **{name: case})
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"{name}: {case}")
                    raise

        parameters = [
            parameter for parameter in signature.parameters.values() if parameter.name != name
        ]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return decorate
