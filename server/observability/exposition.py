"""From the numbers that the rooms of a process keep to what Prometheus reads.

A source is asked when somebody asks for the page, on the event loop, so it must not wait.
One that fails leaves out its own samples and nobody else's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from importlib.metadata import version

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import Collector

from ..histogram import Histogram
from .metrics import BUILD, METRICS, Kind, Metric, Sample

log = logging.getLogger(__name__)

# Tells what it knows at this moment.
Source = Callable[[], Iterable[Sample]]
Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily

_FAMILIES: dict[Kind, type[Family]] = {
    Kind.COUNTER: CounterMetricFamily,
    Kind.GAUGE: GaugeMetricFamily,
    Kind.HISTOGRAM: HistogramMetricFamily,
}


class Exposition(Collector):
    """The samples of all sources."""

    def __init__(self) -> None:
        self._sources: list[Source] = [_build]

    def add(self, source: Source) -> None:
        """Has a source asked as well."""
        self._sources.append(source)

    def registry(self) -> CollectorRegistry:
        """Returns what exposes them, together with the figures of the process."""
        registry = CollectorRegistry()
        registry.register(self)
        registry.register(ProcessCollector(registry=None))
        return registry

    def describe(self) -> Iterable[Family]:
        """Returns the names alone, so that no source is asked when it is registered."""
        return [_family(metric) for metric in METRICS]

    def collect(self) -> Iterable[Family]:
        """Returns the families that have samples now."""
        families = {metric: _family(metric) for metric in METRICS}
        for source in self._sources:
            try:
                for sample in source():
                    _add(families[sample.metric], sample)
            except Exception:
                log.exception("figures could not be told")
        return [family for family in families.values() if family.samples]


def _build() -> Iterable[Sample]:
    return (Sample(BUILD, 1, (version("roster"),)),)


def _family(metric: Metric) -> Family:
    return _FAMILIES[metric.kind](metric.name, metric.help, labels=metric.labels)


def _add(family: Family, sample: Sample) -> None:
    if not isinstance(family, HistogramMetricFamily):
        assert isinstance(sample.value, int | float)
        family.add_metric(sample.labels, sample.value)
        return
    assert isinstance(sample.value, Histogram)
    buckets, count = [], 0
    bounds = [*map(str, sample.value.bounds), "+Inf"]
    for bound, found in zip(bounds, sample.value.counts, strict=True):
        count += found
        buckets.append((bound, float(count)))
    family.add_metric(sample.labels, buckets, sample.value.sum)
