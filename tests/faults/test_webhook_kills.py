"""kill -9 of service and receiver during deliveries; `make faults` repeats it more often."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .promises import deliveries
from .promises.checker import Results, broken

pytestmark = pytest.mark.verify


@pytest.mark.parametrize("run", [deliveries.run, deliveries.on_postgres])
def test_no_event_is_lost_when_service_and_receiver_are_killed(
    run: Callable[[int], Results],
) -> None:
    results = run(2)

    assert broken(results, deliveries.AT_MOST) == {}
    assert results["acknowledged"] > 0
