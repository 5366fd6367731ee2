"""Tests a service with Schemathesis.

ROSTER_SCHEMATHESIS_EXAMPLES sets the number of examples per operation.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..conftest import Account
from ..http_gateway.docs.html import DOCUMENT
from .schemathesis_run import run_schemathesis

pytestmark = pytest.mark.verify

EXAMPLES = os.environ.get("ROSTER_SCHEMATHESIS_EXAMPLES", "5")


def test_schemathesis_finds_no_failure(http_account: Account, tmp_path: Path) -> None:
    result = run_schemathesis(http_account, tmp_path, EXAMPLES)

    assert result.code == 0, result.output
    operations = sum(
        len(operations)
        for path, operations in DOCUMENT["paths"].items()
        if not path.endswith(("/tail", "/watch"))
    )
    assert f"Tested: {operations}" in result.output
