"""P6: calls with an id of another account reveal only that it is not found.

Every operation that takes an id or another reference is called with one of another account and
with one that does not exist, in turns, over both fronts.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from ...behavior.helpers import MISSING_ID, error_of
from ...behavior.requests import (
    REFERENCES,
    REQUESTS,
    all_lists,
    create_all,
    resource_type,
)
from ...conftest import Account, new_account
from ...fronts import GrpcFront, HttpFront, Response
from ...processes import start
from .checker import Results

AT_MOST: Results = {
    "not 404": 0,
    "different errors": 0,
    "changed": 0,
    # Medians of calls in turns. They differ only by other load of the machine.
    "latency ratio": 3,
}
AT_LEAST: Results = {}
# Webhooks have loopback URLs without a listener.
SETTINGS = {
    "ROSTER_LOG_LEVEL": "error",
    "ROSTER_WEBHOOK_ALLOW_NETS": "127.0.0.0/8",
    "ROSTER_WEBHOOK_ALLOW_HTTP": "true",
}
# The first calls of an operation fill caches and do not count.
WARMUP = 3


@dataclass
class CallComparison:
    """Responses and durations of one operation, for foreign and for missing ids."""

    responses: list[Response] = field(default_factory=list)
    seconds: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    @property
    def distinct_errors(self) -> int:
        """The number of different 404 responses."""
        return len(
            {repr(error_of(response)) for response in self.responses if response.status == 404}
        )

    @property
    def latency_ratio(self) -> float:
        """The ratio of the slower median duration to the faster one."""
        theirs, missing = (statistics.median(times[WARMUP:]) for times in self.seconds)
        return max(theirs / missing, missing / theirs)


def run(repetitions: int) -> Results:
    """Calls every operation so many times with either id and returns the differences."""
    with tempfile.TemporaryDirectory() as folder:
        service = start(Path(folder), **SETTINGS)
        try:
            fronts = (GrpcFront(service.grpc), HttpFront("http", service.http))
            comparisons, changed = [], 0
            for front in fronts:
                account, other = (new_account(service, front) for _ in range(2))
                references, before = create_all(other), all_lists(other)
                comparisons += [
                    compare_calls(account, rpc, references[resource_type(rpc)], repetitions)
                    for rpc in REFERENCES
                ]
                changed += all_lists(other) != before
            fronts[0].channel.close()
        finally:
            service.stop()
    return results_of(comparisons) | {"changed": changed}


def compare_calls(account: Account, rpc: str, theirs: str, repetitions: int) -> CallComparison:
    """Calls an operation in turns with a foreign id and with a missing one."""
    comparisons, name = CallComparison(), REFERENCES[rpc]
    for _ in range(WARMUP + repetitions):
        for kind, named in enumerate((theirs, MISSING_ID)):
            began = time.perf_counter()
            response = account.call(rpc, **{name: named}, **REQUESTS.get(rpc, {}))
            comparisons.seconds[kind].append(time.perf_counter() - began)
            comparisons.responses.append(response)
    return comparisons


def results_of(comparisons: list[CallComparison]) -> Results:
    """Counts the violations."""
    ratios = [comparison.latency_ratio for comparison in comparisons]
    return {
        "operations": len(comparisons),
        "calls": sum(len(comparison.responses) for comparison in comparisons),
        "not 404": sum(
            response.status != 404
            for comparison in comparisons
            for response in comparison.responses
        ),
        "different errors": sum(comparison.distinct_errors > 1 for comparison in comparisons),
        "latency ratio": round(max(ratios), 2),
        "median latency ratio": round(statistics.median(ratios), 2),
    }
