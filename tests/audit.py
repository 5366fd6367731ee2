"""`make audit`: looks up known vulnerabilities of the locked packages.

pip-audit queries PyPI. Found vulnerabilities end this with 1. Failed lookups are printed and do not
fail, so that an outage of PyPI does not block a change; the next run tries again.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PROGRAM = ROOT / ".tools/bin/pip-audit"
# Every package is named by its version and hashes, so that nothing has to be installed.
ARGUMENTS = ("--disable-pip", "--require-hashes", "--format=json", "--progress-spinner=off")
SECONDS = 300


def look_up(lock: Path, program: str) -> list[dict[str, Any]] | None:
    """Returns the findings of pip-audit per locked package, or None if the lookup failed."""
    command = [program, "--requirement", str(lock), *ARGUMENTS]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        print(f"pip-audit did not respond within {SECONDS} seconds.")
        return None
    except json.JSONDecodeError:
        print(done.stderr.strip())
        return None
    return found


def report(packages: list[dict[str, Any]]) -> int:
    """Prints the findings, and returns the number of vulnerable packages."""
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    bad = [package for package in packages if package.get("vulns")]
    for item in bad:
        for flaw in item["vulns"]:
            fixed = ", ".join(flaw["fix_versions"]) or "no version yet"
            print(f"{item['name']} {item['version']}: {flaw['id']}, fixed in {fixed}")
    known = len(packages) - len(unknown)
    print(f"{known} packages were looked up, of which {len(bad)} are vulnerable.")
    if unknown:
        print(f"{len(unknown)} could not be looked up: {', '.join(unknown)}.")
    return len(bad)


def main() -> None:
    program = shutil.which("pip-audit", path=PROGRAM.parent)
    if program is None:
        raise SystemExit("pip-audit is not installed; run .ci/tools/pip-audit to install it.")
    packages = look_up(ROOT / "tests/requirements.lock", program)
    if packages is None:
        print("Nothing was looked up.")
        return
    sys.exit(1 if report(packages) else 0)


if __name__ == "__main__":
    main()
