"""P6: whoever asks for what is another account's learns no more than that it is not there.

Every operation that is told an id, or whatever else one thing goes by, is called with what
another account has and with what nobody has, in turns, over both fronts.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from ...behavior.helpers import MISSING_ID, told
from ...behavior.test_isolation import MISSING, NAMES, REQUESTS, everything, make_all, meant_by
from ...conftest import Account, new_account
from ...fronts import GrpcFront, HttpFront, Response
from ...processes import start
from .checker import Figures

AT_MOST: Figures = {
    "not 404": 0,
    "told in two ways": 0,
    "changed": 0,
    # Medians of calls in turns; they are the same but for what else the machine does.
    "times as long": 3,
}
# Webhooks are made at addresses of this machine, where nobody listens.
SETTINGS = {
    "ROSTER_LOG_LEVEL": "error",
    "ROSTER_WEBHOOK_ALLOW_NETS": "127.0.0.0/8",
    "ROSTER_WEBHOOK_ALLOW_HTTP": "true",
}
# The first calls of an operation find nothing in memory yet, and do not count.
COLD = 3


@dataclass
class Asked:
    """The answers to one operation, and how long they took: about theirs, and about nothing."""

    answers: list[Response] = field(default_factory=list)
    seconds: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    @property
    def ways(self) -> int:
        """In how many ways it was told that there is nothing."""
        return len({repr(told(answer)) for answer in self.answers if answer.status == 404})

    @property
    def times_as_long(self) -> float:
        """How many times as long the slower kind takes as the other."""
        theirs, missing = (statistics.median(taken[COLD:]) for taken in self.seconds)
        return max(theirs / missing, missing / theirs)


def run(rounds: int) -> Figures:
    """Calls every operation so many times with either, and returns what can be told apart."""
    with tempfile.TemporaryDirectory() as folder:
        service = start(Path(folder), **SETTINGS)
        try:
            fronts = (GrpcFront(service.grpc), HttpFront("http", service.http))
            asked, changed = [], 0
            for front in fronts:
                account, other = (new_account(service, front) for _ in range(2))
                names, before = make_all(other), everything(other)
                asked += [ask(account, rpc, names[meant_by(rpc)], rounds) for rpc in NAMES]
                changed += everything(other) != before
            fronts[0].channel.close()
        finally:
            service.stop()
    return figures_of(asked) | {"changed": changed}


def ask(account: Account, rpc: str, theirs: str, rounds: int) -> Asked:
    """Calls an operation in turns with what is theirs and with what is missing."""
    asked, name = Asked(), NAMES[rpc]
    for _ in range(COLD + rounds):
        for kind, named in enumerate((theirs, MISSING.get(name, MISSING_ID))):
            began = time.perf_counter()
            answer = account.call(rpc, **{name: named}, **REQUESTS.get(rpc, {}))
            asked.seconds[kind].append(time.perf_counter() - began)
            asked.answers.append(answer)
    return asked


def figures_of(asked: list[Asked]) -> Figures:
    """Counts what was answered as it should not be."""
    ratios = [each.times_as_long for each in asked]
    return {
        "operations": len(asked),
        "calls": sum(len(each.answers) for each in asked),
        "not 404": sum(answer.status != 404 for each in asked for answer in each.answers),
        "told in two ways": sum(each.ways > 1 for each in asked),
        "times as long": round(max(ratios), 2),
        "times as long, median": round(statistics.median(ratios), 2),
    }
