"""Runs Schemathesis against a service, by its /openapi.json.

schemathesis.toml and schemathesis_hooks.py configure what the document cannot express.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from ..conftest import Account
from ..processes import environment

CONFIG = Path(__file__).with_name("schemathesis.toml")
ROOT = Path(__file__).parents[2]


class Result(NamedTuple):
    """The exit code, output and JSON report of a run."""

    code: int
    output: str
    report: dict[str, Any]


# Seconds. A full run takes hours.
TIMEOUT = 6 * 3600


def run_schemathesis(account: Account, folder: Path, examples: str) -> Result:
    """Tests the service with an account, and a number of examples per operation."""
    key_id = account.ok("ListApiKeys")["apiKeys"][0]["id"]
    report = folder / "report.json"
    run = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", f"--config-file={CONFIG}", "--no-color"),
            *("run", f"http://{account.service.http}/openapi.json", f"--max-examples={examples}"),
            *("--continue-on-failure", "--report=json", f"--report-json-path={report}"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=TIMEOUT,
        cwd=folder,  # The command creates a folder there.
        env=environment(ROSTER_API_KEY=account.key, ROSTER_API_KEY_ID=key_id, PYTHONPATH=str(ROOT)),
    )
    return Result(run.returncode, run.stdout, json.loads(report.read_text()))
