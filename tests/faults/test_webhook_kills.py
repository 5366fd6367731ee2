"""kill -9 of service and receiver while events are delivered; `make faults` tries more often."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .promises import deliveries
from .promises.checker import Figures, broken


@pytest.mark.parametrize("run", [deliveries.run, deliveries.on_postgres])
def test_no_event_is_lost_when_service_and_receiver_are_killed(
    run: Callable[[int], Figures],
) -> None:
    figures = run(2)

    assert broken(figures, deliveries.AT_MOST) == {}
    assert figures["acknowledged"] > 0
