"""Merges the metrics of the processes of a supervisor, with a label for the process.

One address then serves the metrics of all processes. A process that is replaced keeps its
number, and its counters restart, which Prometheus handles per series. A sum over processes would
decrease instead, by the counts of the old process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import aiohttp
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from .exposition import Exposition
from .metrics import PROCESS_UP

# For the response of a process.
TIMEOUT = aiohttp.ClientTimeout(total=2.0)
PROCESS = "process"


class MergedMetrics(Collector):
    """The metrics of the supervisor, and of its processes by number; None without a response."""

    def __init__(self, pages: Mapping[int, str | None], own: Exposition) -> None:
        up = GaugeMetricFamily(PROCESS_UP.name, PROCESS_UP.help, labels=PROCESS_UP.labels)
        self._families: dict[str, Metric] = {up.name: up}
        for number, text in pages.items():
            up.add_metric((str(number),), text is not None)
            for family in text_string_to_metric_families(text or ""):
                self._add(family, {PROCESS: str(number)})
        for family in own.collect():
            self._add(family, {})

    def _add(self, family: Metric, labels: Mapping[str, str]) -> None:
        joined = self._families.setdefault(
            family.name, Metric(family.name, family.documentation, family.type)
        )
        for sample in family.samples:
            joined.add_sample(sample.name, {**sample.labels, **labels}, sample.value)

    def collect(self) -> Iterable[Metric]:
        return self._families.values()


async def gather(urls: Mapping[int, str], own: Exposition) -> CollectorRegistry:
    """Fetches the metrics of processes from their URLs, and adds those of the supervisor.

    A process that has ended has an empty URL.
    """
    async with aiohttp.ClientSession(timeout=TIMEOUT, trust_env=False) as session:
        pages = await asyncio.gather(*(_fetch(session, url) for url in urls.values()))
    registry = CollectorRegistry()
    registry.register(MergedMetrics(dict(zip(urls, pages, strict=True)), own))
    return registry


async def _fetch(session: aiohttp.ClientSession, url: str) -> str | None:
    """Returns the metrics of a process, or None if it does not respond."""
    if not url:
        return None
    try:
        async with session.get(url) as response:
            return await response.text() if response.status == 200 else None
    except (aiohttp.ClientError, TimeoutError):
        return None
