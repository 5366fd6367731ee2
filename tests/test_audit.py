"""`make audit` evaluates the output of pip-audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from . import audit

SOUND = {"name": "yarl", "version": "1.25.1", "vulns": []}
MISSED = {"name": "attrs", "skip_reason": "Dependency not found on PyPI"}
FLAW = {"id": "PYSEC-2026-1", "fix_versions": ["3.1.7"]}
BAD = {"name": "jinja2", "version": "3.1.6", "vulns": [FLAW]}


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replaces pip-audit with a program that prints a text and exits with a code."""

    def put(printed: str, code: int) -> None:
        (tmp_path / "printed").write_text(printed)
        program = tmp_path / "pip-audit"
        program.write_text(
            f"#!/bin/sh\ncat {tmp_path / 'printed'}\necho no network >&2\nexit {code}"
        )
        program.chmod(0o755)
        monkeypatch.setattr(audit, "PROGRAM", program)

    return put


def audited() -> int | str | None:
    """Returns the exit code of an audit."""
    try:
        audit.main()
    except SystemExit as end:
        return end.code
    return 0


@pytest.mark.parametrize(
    ("packages", "code", "ends"), [([SOUND], 0, 0), ([SOUND, MISSED], 0, 0), ([SOUND, BAD], 1, 1)]
)
def test_vulnerable_package_fails_and_unknown_package_does_not(
    output: Any, packages: list[dict[str, Any]], code: int, ends: int
) -> None:
    output(json.dumps({"dependencies": packages}), code)

    assert audited() == ends


def test_unreachable_service_is_reported_and_does_not_fail(
    output: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    output("", 1)

    assert audited() == 0
    assert capsys.readouterr().out == "no network\nNothing was looked up.\n"


def test_audit_without_its_program_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "PROGRAM", tmp_path / "pip-audit")

    assert ".ci/tools/pip-audit" in str(audited())
