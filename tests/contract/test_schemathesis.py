"""Schemathesis goes over a service by its own /openapi.json, and finds nothing.

What it cannot know is in schemathesis.toml and schemathesis_hooks.py. The number of
examples an operation is bounded here; ROSTER_SCHEMATHESIS_EXAMPLES asks for more.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ..conftest import Account
from ..processes import Service, environment

CONFIG = Path(__file__).with_name("schemathesis.toml")
ROOT = Path(__file__).parents[2]
EXAMPLES = os.environ.get("ROSTER_SCHEMATHESIS_EXAMPLES", "5")


def test_schemathesis_finds_nothing(
    service: Service, http_account: Account, tmp_path: Path
) -> None:
    own = http_account.ok("ListApiKeys")["apiKeys"][0]["id"]
    report = tmp_path / "report.json"

    told = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", f"--config-file={CONFIG}", "--no-color"),
            *("run", f"http://{service.http}/openapi.json", f"--max-examples={EXAMPLES}"),
            *("--continue-on-failure", "--report=json", f"--report-json-path={report}"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,  # it leaves a folder of its own behind
        env=environment(
            ROSTER_API_KEY=http_account.key, ROSTER_API_KEY_ID=own, PYTHONPATH=str(ROOT)
        ),
    )

    assert told.returncode == 0, told.stdout + told.stderr
    assert "Tested: 45" in told.stdout
