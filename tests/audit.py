"""`make audit`: looks up known vulnerabilities of the locked packages.

pip-audit asks PyPI. What is found ends this with 1. What could not be looked up is told and
ends nothing: a change is not to wait for somebody else's service, and the next run asks again.
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


def asked(lock: Path, program: str) -> list[dict[str, Any]] | None:
    """Returns what is known of each package that is locked, or None if nobody could be asked."""
    command = [program, "--requirement", str(lock), *ARGUMENTS]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        print(f"pip-audit had no answer within {SECONDS} seconds.")
        return None
    except json.JSONDecodeError:
        print(done.stderr.strip())
        return None
    return found


def told(packages: list[dict[str, Any]]) -> int:
    """Says what was found, and returns how many of the packages are vulnerable."""
    missed = [each["name"] for each in packages if "skip_reason" in each]
    bad = [each for each in packages if each.get("vulns")]
    for each in bad:
        for flaw in each["vulns"]:
            mended = ", ".join(flaw["fix_versions"]) or "no version yet"
            print(f"{each['name']} {each['version']}: {flaw['id']}, mended in {mended}")
    known = len(packages) - len(missed)
    print(f"{known} packages were looked up, of which {len(bad)} are vulnerable.")
    if missed:
        print(f"{len(missed)} could not be: {', '.join(missed) if known else 'nobody knows any'}.")
    return len(bad)


def main() -> None:
    program = shutil.which("pip-audit", path=PROGRAM.parent)
    if program is None:
        raise SystemExit("pip-audit is not on this machine; .ci/tools/pip-audit installs it.")
    packages = asked(ROOT / "tests/requirements.lock", program)
    if packages is None:
        print("Nothing was looked up.")
        return
    sys.exit(1 if told(packages) else 0)


if __name__ == "__main__":
    main()
