"""Schemathesis, going over a service by its own /openapi.json.

What it cannot know from the document is in schemathesis.toml and schemathesis_hooks.py.
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


class Found(NamedTuple):
    """How it ended, what it said, and the same as figures."""

    code: int
    output: str
    report: dict[str, Any]


# A full run takes hours.
LONGEST = 6 * 3600


def go_over(account: Account, folder: Path, examples: str) -> Found:
    """Goes over the service of an account, over HTTP, with so many examples an operation."""
    own = account.ok("ListApiKeys")["apiKeys"][0]["id"]
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
        timeout=LONGEST,
        cwd=folder,  # it leaves a folder of its own behind
        env=environment(ROSTER_API_KEY=account.key, ROSTER_API_KEY_ID=own, PYTHONPATH=str(ROOT)),
    )
    return Found(run.returncode, run.stdout, json.loads(report.read_text()))
