"""P7: requests that schemathesis makes up from the reference, good ones and bad ones.

None is answered by a 5xx, or in a way that the reference does not tell of.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from ...conftest import new_account
from ...contract.going_over import go_over
from ...fronts import HttpFront
from ...processes import start
from .checker import Figures

AT_MOST: Figures = dict.fromkeys(("5xx", "undocumented statuses", "other findings"), 0)
# Figures by what schemathesis calls them.
_NAMES = {"ServerError": "5xx", "UndefinedStatusCode": "undocumented statuses"}


def run(rounds: int) -> Figures:
    """Makes up so many requests of each operation, and returns what is wrong with the answers."""
    with tempfile.TemporaryDirectory() as folder:
        service = start(Path(folder), ROSTER_LOG_LEVEL="error")
        try:
            account = new_account(service, HttpFront("http", service.http))
            found = go_over(account, Path(folder), str(rounds))
        finally:
            service.stop()
    wrong = Counter[str]()
    for failure in found.report["failures"]:
        wrong[_NAMES.get(failure["type"], "other findings")] += failure["count"]
    if found.code:
        print(found.told)
        wrong["other findings"] += not wrong
    return {
        "operations": found.report["operations"]["tested"],
        "requests": found.report["test_cases"]["generated"],
        **{name: wrong[name] for name in AT_MOST},
    }
