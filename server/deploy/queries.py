"""Builds PromQL queries from the declared metrics, so that no query names an unknown metric."""

from __future__ import annotations

from ..observability.metrics import Kind, Metric

# The processes selected in the dashboard, and the interval of rates.
CHOSEN = 'instance=~"$instance"'
SPAN = "$__rate_interval"


def now(metric: Metric, match: str = "") -> str:
    """Selects the current values of a gauge."""
    assert metric.kind is Kind.GAUGE, metric
    return f"{metric.name}{_selected(metric, match)}"


def total(metric: Metric, *by: str, match: str = "") -> str:
    """Sums a gauge over all processes."""
    return f"sum{_by(metric, by)}({now(metric, match)})"


def rate(metric: Metric, *by: str, match: str = "") -> str:
    """Sums the per-second rate of a counter over all processes."""
    assert metric.kind is Kind.COUNTER, metric
    return f"sum{_by(metric, by)}(rate({metric.name}{_selected(metric, match)}[{SPAN}]))"


def quantile(share: float, metric: Metric, *by: str) -> str:
    """Computes a quantile of a histogram over all processes."""
    assert metric.kind is Kind.HISTOGRAM, metric
    buckets = f"rate({metric.name}_bucket{_selected(metric, '')}[{SPAN}])"
    return f"histogram_quantile({share}, sum{_by(metric, (*by, 'le'))}({buckets}))"


def mean(metric: Metric, *by: str) -> str:
    """Computes the mean of a histogram over all processes."""
    assert metric.kind is Kind.HISTOGRAM, metric
    sums, counts = (
        f"sum{_by(metric, by)}(rate({metric.name}_{part}{_selected(metric, '')}[{SPAN}]))"
        for part in ("sum", "count")
    )
    return f"{sums} / {counts}"


def _selected(metric: Metric, match: str) -> str:
    if not match:
        return f"{{{CHOSEN}}}"
    label = match.partition("=")[0].rstrip("!")
    assert label in metric.labels, f"{metric.name} has no label {label}"
    return f"{{{CHOSEN},{match}}}"


def _by(metric: Metric, labels: tuple[str, ...]) -> str:
    known = {*metric.labels, "instance", "le"}
    assert set(labels) <= known, f"{metric.name} lacks one of {labels}"
    return f" by ({', '.join(labels)}) " if labels else ""
