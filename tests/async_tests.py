"""Runs tests that are coroutines."""

from __future__ import annotations

import asyncio
import inspect

import pytest
import uvloop

# Seconds after which a test fails.
TIMEOUT = 300


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a coroutine on uvloop, as Roster does, with a timeout."""
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    values = {name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters}
    uvloop.run(asyncio.wait_for(test(**values), TIMEOUT))
    return True
