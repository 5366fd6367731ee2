"""A process that is asked to stop: what it gives up, and what it finishes."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Iterator

import pytest

from server.serving.process import Lifecycle
from server.serving.ready import Ready


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """What looks for garbage, which a process that serves spares, as it was before."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def lived(service: Callable[[Lifecycle], Coroutine[None, None, None]]) -> list[Ready]:
    """Runs a service and returns what it has told. Raises CancelledError if it was given up."""
    told: list[Ready] = []

    async def main() -> None:
        await service(Lifecycle(told.append))

    asyncio.run(main())
    return told


def test_start_is_given_up_in_its_midst() -> None:
    async def service(life: Lifecycle) -> None:
        with life.starting():
            asyncio.get_running_loop().call_soon(life.end)
            await asyncio.Event().wait()

    with pytest.raises(asyncio.CancelledError):
        lived(service)


def test_start_that_comes_later_is_not_begun() -> None:
    begun = []

    async def service(life: Lifecycle) -> None:
        life.end()
        with life.starting():
            begun.append(True)

    with pytest.raises(asyncio.CancelledError):
        lived(service)
    assert begun == []


def test_what_follows_a_start_is_finished_so_that_a_first_key_is_told() -> None:
    async def service(life: Lifecycle) -> None:
        with life.starting():
            await asyncio.sleep(0)
        life.end()
        await asyncio.sleep(0)
        await life.serving(Ready(first_key="rk_first"))

    assert lived(service) == [Ready(first_key="rk_first")]
