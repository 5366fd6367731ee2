"""What a running service tells of itself, as a test reads it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from ..parts import LONG

# A sample by its name and its labels.
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def lines_of(log: Path, request_id: str) -> list[dict[str, Any]]:
    """Returns the lines of a log with this request id, as soon as there are any.

    Lines of calls are gathered for a tenth of a second.
    """
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        lines = [json.loads(text) for text in log.read_text().splitlines()]
        found = [line for line in lines if line.get("requestId") == request_id]
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{log} says nothing of {request_id}")


def place_of(printed: list[str]) -> str:
    """Returns the URL of the figures of a process that printed this."""
    match = re.search(r"metrics\s+(http\S+)", "".join(printed))
    assert match, printed
    return match[1]


def page_of(url: str) -> str:
    """Returns the page of figures."""
    with urlopen(url, timeout=20) as answer:
        return str(answer.read().decode())


def samples_of(url: str) -> Samples:
    """Returns the samples on the page of figures."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page_of(url))
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    """Returns one sample; 0 where there is none, as of what was never counted."""
    return samples.get((name, frozenset(labels.items())), 0.0)
