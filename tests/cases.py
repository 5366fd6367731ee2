"""Runs all cases of a table as one test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

import pytest


def each(
    names: str | tuple[str, ...], cases: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a test that runs for each case, and reports the case that fails.

    It replaces pytest.mark.parametrize for large tables of cheap cases, because collecting and
    reporting a test takes longer than most of their assertions. A mapping names its cases in the
    report. With several names, a case is a tuple of their values. The cases share the fixtures.
    """
    table = list(cases.items()) if isinstance(cases, Mapping) else [(case, case) for case in cases]
    assert table, names
    arguments = (names,) if isinstance(names, str) else names

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @wraps(test)
        def run(**fixtures: Any) -> None:
            for label, case in table:
                values = (case,) if isinstance(names, str) else case
                try:
                    test(**fixtures, **dict(zip(arguments, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"{', '.join(arguments)}: {label}")
                    raise

        parameters = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.name not in arguments
        ]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return decorate
