"""P7: requests that schemathesis generates from the OpenAPI document, valid and invalid.

No response may be a 5xx or undocumented.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from ...conftest import new_account
from ...contract.schemathesis_run import run_schemathesis
from ...fronts import HttpFront
from ...processes import start
from .checker import Results

AT_MOST: Results = dict.fromkeys(("5xx", "undocumented statuses", "other findings"), 0)
AT_LEAST: Results = {}
# Results by the failure types of schemathesis.
_NAMES = {"ServerError": "5xx", "UndefinedStatusCode": "undocumented statuses"}


def run(repetitions: int) -> Results:
    """Sends so many requests per operation and counts the failures by kind."""
    with tempfile.TemporaryDirectory() as folder:
        service = start(Path(folder), ROSTER_LOG_LEVEL="error")
        try:
            account = new_account(service, HttpFront("http", service.http))
            found = run_schemathesis(account, Path(folder), str(repetitions))
        finally:
            service.stop()
    wrong = Counter[str]()
    for failure in found.report["failures"]:
        wrong[_NAMES.get(failure["type"], "other findings")] += failure["count"]
    if found.code:
        print(found.output)
        wrong["other findings"] += not wrong
    return {
        "operations": found.report["operations"]["tested"],
        "requests": found.report["test_cases"]["generated"],
        **{name: wrong[name] for name in AT_MOST},
    }
