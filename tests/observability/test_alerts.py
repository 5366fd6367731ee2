"""Alerting rules: they fire as their unit tests state, and each has an entry in the runbook."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from rosterd.server.observability.metrics import METRICS, Kind

from ..tools import program

DEPLOY = Path(__file__).parents[2] / "server" / "deploy"
RULES = DEPLOY / "alerts.yml"
RUNBOOK = DEPLOY / "RUNBOOK.md"
UNIT_TESTS = Path(__file__).with_name("alerts_test.yml")
ALERTS = re.findall(r"- alert: (\w+)", RULES.read_text())


@pytest.mark.parametrize("file", [RULES, RUNBOOK], ids=["rules", "runbook"])
def test_alerts_use_existing_metrics(file: Path) -> None:
    existing = {metric.name for metric in METRICS} | {
        f"{metric.name}_bucket" for metric in METRICS if metric.kind is Kind.HISTOGRAM
    }

    assert set(re.findall(r"\broster_\w+", file.read_text())) - existing == set()


def test_each_alert_has_an_entry_in_the_runbook() -> None:
    parts_of = re.compile(r"^## (\w+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    entries = parts_of.findall(RUNBOOK.read_text())

    assert [name for name, _ in entries] == ALERTS
    for name, text in entries:
        parts = re.findall(r"^- \*\*(\w+)\*\*: ", text, re.MULTILINE)
        assert parts == ["Meaning", "Check", "Action"], name


def test_each_alert_has_a_severity_and_a_unit_test() -> None:
    assert len(re.findall(r"severity: (?:critical|warning)\}", RULES.read_text())) == len(ALERTS)
    assert re.findall(r'alertname="(\w+)"', UNIT_TESTS.read_text()) == ALERTS


@pytest.mark.verify
@pytest.mark.parametrize("words", [("check", "rules", RULES), ("test", "rules", UNIT_TESTS)])
def test_promtool_accepts_the_rules_and_their_unit_tests(words: tuple[str | Path, ...]) -> None:
    promtool = program("promtool", "prometheus")

    done = subprocess.run([promtool, *words], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stdout + done.stderr
