"""Processes that are stopped during or after startup."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Iterator

import pytest

from rosterd.server.serving.process import Lifecycle
from rosterd.server.serving.ready import Ready


@pytest.fixture(autouse=True)
def garbage_collection() -> Iterator[None]:
    """Restores the garbage collector settings, which a serving process changes."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def run_service(service: Callable[[Lifecycle], Coroutine[None, None, None]]) -> list[Ready]:
    """Runs a service and returns its reports. Raises CancelledError if it was cancelled."""
    reports: list[Ready] = []

    async def main() -> None:
        await service(Lifecycle(reports.append))

    asyncio.run(main())
    return reports


def test_stop_cancels_a_start() -> None:
    async def service(lifecycle: Lifecycle) -> None:
        with lifecycle.starting():
            asyncio.get_running_loop().call_soon(lifecycle.stop)
            await asyncio.Event().wait()

    with pytest.raises(asyncio.CancelledError):
        run_service(service)


def test_start_after_a_stop_is_cancelled() -> None:
    started = []

    async def service(lifecycle: Lifecycle) -> None:
        lifecycle.stop()
        with lifecycle.starting():
            started.append(True)

    with pytest.raises(asyncio.CancelledError):
        run_service(service)
    assert started == []


def test_report_after_a_start_is_not_cancelled() -> None:
    async def service(lifecycle: Lifecycle) -> None:
        with lifecycle.starting():
            await asyncio.sleep(0)
        lifecycle.stop()
        await asyncio.sleep(0)
        await lifecycle.serving(Ready(first_key="rk_first"))

    assert run_service(service) == [Ready(first_key="rk_first")]
