"""Pauses between transactions of the command line, in which services write."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

# The pause after a transaction, as a multiple of its duration.
PAUSE_FACTOR = 2.0


@contextmanager
def paused_after() -> Iterator[None]:
    """Waits after a block in proportion to its duration."""
    started = time.monotonic()
    yield
    time.sleep(PAUSE_FACTOR * (time.monotonic() - started))
