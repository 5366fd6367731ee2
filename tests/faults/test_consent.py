"""Only explicit changes make a person mailable; `make faults` runs more sequences of writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from .promises import consent
from .promises.checker import broken

pytestmark = pytest.mark.verify

_BROKEN = """
from rosterd.server.cli import main
from rosterd.server.features.links import store as links
from rosterd.server.features.subscribers import rules, store
from rosterd.server.features.imports import cells
{statement}
main()
"""
_NO_SUPPRESSION = "store.SubscriberStore._suppress_if_opted_out = lambda *_: None"
_NO_TRANSITIONS = """
from rosterd.server.features.operations import store_steps
change = store_steps.change_statuses
store_steps.change_statuses = lambda *a, **b: change(*a, **b | {"by_admin": True})
"""
# Statements that break the consent of a service, and the results that detect them.
BROKEN = {
    "imports weaken a status": ("rules.is_stricter = lambda *_: True", consent.UNEXPLAINED),
    "deletions suppress nothing": (_NO_SUPPRESSION, consent.MORE_MAILABLE),
    "batch operations undo complaints": (_NO_TRANSITIONS, consent.DIFFERENT),
    "files have no dates of opt-outs": (
        "cells.parse_opt_out_time = lambda *_: None",
        consent.MORE_MAILABLE,
    ),
    "links confirm for ever": ("links._has_ended = lambda *_: False", consent.MORE_MAILABLE),
}


def test_only_explicit_changes_make_a_person_mailable(tmp_path: Path) -> None:
    results = consent.run_sequences(2 * consent.SEQUENCES_PER_KILL, tmp_path)

    assert broken(results, consent.AT_MOST) == {}
    assert [name for name, least in consent.AT_LEAST.items() if results[name] < least] == []


@pytest.mark.parametrize(("statement", "result"), BROKEN.values(), ids=BROKEN)
def test_broken_consent_is_detected(tmp_path: Path, statement: str, result: str) -> None:
    code = _BROKEN.format(statement=statement)

    results = consent.run_sequences(2 * consent.SEQUENCES_PER_KILL, tmp_path, code=code)

    assert results[consent.DIFFERENT] > 0
    assert results[result] > 0
