"""Reads the metrics and the log of a running service."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from ..components import wait_until

# Values by metric name and labels.
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def lines_of(log: Path, request_id: str) -> list[dict[str, Any]]:
    """Waits for log lines with a request id, which are written with a short delay."""
    lines: list[dict[str, Any]] = []

    def found() -> bool:
        parsed = [json.loads(text) for text in log.read_text().splitlines() if request_id in text]
        lines[:] = [line for line in parsed if line.get("requestId") == request_id]
        return bool(lines)

    wait_until(found, f"{log} has no line of {request_id}")
    return lines


def metrics_url(printed: list[str]) -> str:
    """Returns the metrics URL in the output of a process."""
    match = re.search(r"metrics\s+(http\S+)", "".join(printed))
    assert match, printed
    return match[1]


def get(url: str) -> str:
    with urlopen(url, timeout=20) as response:
        return str(response.read().decode())


def samples_of(url: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(get(url))
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    """Returns the value of a sample; 0 if it is missing."""
    return samples.get((name, frozenset(labels.items())), 0.0)
