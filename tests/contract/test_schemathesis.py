"""Schemathesis goes over a service by its own /openapi.json, and finds nothing.

The number of examples an operation is bounded here; ROSTER_SCHEMATHESIS_EXAMPLES asks for
more.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..conftest import Account
from .going_over import go_over

pytestmark = pytest.mark.verify

EXAMPLES = os.environ.get("ROSTER_SCHEMATHESIS_EXAMPLES", "5")


def test_schemathesis_finds_nothing(http_account: Account, tmp_path: Path) -> None:
    found = go_over(http_account, tmp_path, EXAMPLES)

    assert found.code == 0, found.output
    assert "Tested: 45" in found.output
