"""kill -9 while operations run; `make faults` repeats it more often."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .promises import operations
from .promises.checker import Results, broken

pytestmark = pytest.mark.verify

# An operation that forgets its progress changes subscribers again.
_FORGETTING = """
from rosterd.server.cli import main
from rosterd.server.features.operations import store
put = store.put
store.put = lambda account, row, tx: put(account, row._replace(after_id=""), tx)
main()
"""


@pytest.mark.parametrize("run", [operations.run, operations.on_postgres])
def test_operations_change_each_subscriber_once_despite_kills(
    run: Callable[[int], Results],
) -> None:
    results = run(4)

    assert broken(results, operations.AT_MOST) == {}
    assert results["kills in operations"] > 0


def test_lost_progress_is_detected(tmp_path: Path) -> None:
    results = operations.run_operations(4, tmp_path, code=_FORGETTING)

    assert results[operations.WRONG] > 0
