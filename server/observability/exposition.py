"""Collects the samples of all metric sources for Prometheus.

Sources are called for each scrape, on the event loop, so they must not block. If a source
fails, only its samples are missing.
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

from ..values.histogram import Histogram
from .metrics import BUILD, METRICS, Kind, Metric, Sample

log = logging.getLogger(__name__)

# Returns the current samples.
Source = Callable[[], Iterable[Sample]]
Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily

_FAMILIES: dict[Kind, type[Family]] = {
    Kind.COUNTER: CounterMetricFamily,
    Kind.GAUGE: GaugeMetricFamily,
    Kind.HISTOGRAM: HistogramMetricFamily,
}


class Exposition(Collector):
    def __init__(self) -> None:
        self._sources: list[Source] = [_build]

    def add(self, source: Source) -> None:
        self._sources.append(source)

    def registry(self) -> CollectorRegistry:
        """Returns a registry with these metrics and those of the process."""
        registry = CollectorRegistry()
        registry.register(self)
        registry.register(ProcessCollector(registry=None))
        return registry

    def describe(self) -> Iterable[Family]:
        """Returns families without samples; registration needs their names only."""
        return [_family(metric) for metric in METRICS]

    def collect(self) -> Iterable[Family]:
        families = {metric: _family(metric) for metric in METRICS}
        for source in self._sources:
            try:
                for sample in source():
                    _add(families[sample.metric], sample)
            except Exception:
                log.exception("a metric source failed")
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
    for bound, increment in zip(bounds, sample.value.counts, strict=True):
        count += increment
        buckets.append((bound, float(count)))
    family.add_metric(sample.labels, buckets, sample.value.sum)
