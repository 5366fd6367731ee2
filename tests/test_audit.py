"""What `make audit` makes of the answers of pip-audit."""

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
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has a program that prints a text, and ends so, in the place of pip-audit."""

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
    """Returns what an audit ends with."""
    try:
        audit.main()
    except SystemExit as end:
        return end.code
    return 0


@pytest.mark.parametrize(
    ("packages", "code", "ends"), [([SOUND], 0, 0), ([SOUND, MISSED], 0, 0), ([SOUND, BAD], 1, 1)]
)
def test_what_is_vulnerable_fails_and_what_is_not_known_does_not(
    answer: Any, packages: list[dict[str, Any]], code: int, ends: int
) -> None:
    answer(json.dumps({"dependencies": packages}), code)

    assert audited() == ends


def test_flaw_is_told_with_the_version_that_mends_it(
    answer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(json.dumps({"dependencies": [BAD, MISSED]}), 1)

    audited()

    said = capsys.readouterr().out
    assert "jinja2 3.1.6: PYSEC-2026-1, mended in 3.1.7" in said
    assert "1 could not be: attrs." in said


def test_service_that_cannot_be_reached_is_told_of_and_fails_nothing(
    answer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    answer("", 1)

    assert audited() == 0
    assert capsys.readouterr().out == "no network\nNothing was looked up.\n"


def test_audit_without_its_program_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "PROGRAM", tmp_path / "pip-audit")

    assert ".ci/tools/pip-audit" in str(audited())
