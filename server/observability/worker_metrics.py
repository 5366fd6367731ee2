"""The figures of several processes on one page, each sample labelled with the number of its worker.

So there is one address however many there are, and a worker that is replaced goes on under
its number: its counters begin anew, which Prometheus understands of each series by itself. A
sum made here would fall by what the old one had counted, which it would not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import aiohttp
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from .metrics import WORKER_UP

# How long a worker may take to tell its figures, in seconds.
PATIENCE = aiohttp.ClientTimeout(total=2.0)
WORKER = "worker"


class Gathered(Collector):
    """What the workers have told at one moment."""

    def __init__(self, told: Mapping[int, str | None]) -> None:
        up = GaugeMetricFamily(WORKER_UP.name, WORKER_UP.help, labels=WORKER_UP.labels)
        self._families: dict[str, Metric] = {up.name: up}
        for number, text in told.items():
            up.add_metric((str(number),), text is not None)
            for family in text_string_to_metric_families(text or ""):
                self._add(family, str(number))

    def _add(self, family: Metric, number: str) -> None:
        joined = self._families.setdefault(
            family.name, Metric(family.name, family.documentation, family.type)
        )
        for sample in family.samples:
            labels = {**sample.labels, WORKER: number}
            joined.add_sample(sample.name, labels, sample.value)

    def collect(self) -> Iterable[Metric]:
        """Returns all families."""
        return self._families.values()


async def gather(places: Mapping[int, str]) -> CollectorRegistry:
    """Asks the workers for their figures at these URLs, by number, and returns all of them."""
    async with aiohttp.ClientSession(timeout=PATIENCE, trust_env=False) as session:
        texts = await asyncio.gather(*(_text(session, url) for url in places.values()))
    registry = CollectorRegistry()
    registry.register(Gathered(dict(zip(places, texts, strict=True))))
    return registry


async def _text(session: aiohttp.ClientSession, url: str) -> str | None:
    """Returns the page of a worker, or None if it does not tell."""
    try:
        async with session.get(url) as answer:
            return await answer.text() if answer.status == 200 else None
    except (aiohttp.ClientError, TimeoutError):
        return None
