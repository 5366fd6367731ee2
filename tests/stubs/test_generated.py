"""Tests the generated clients in the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .programs import ROOT
from .proto_comments import IMAGE, lines_of_comments

GENERATED = ROOT / "generated"


@pytest.mark.parametrize(
    ("folder", "ending"), [("go/roster/v1", "go"), ("typescript/roster/v1", "d.ts")]
)
def test_generated_code_has_the_comments_of_the_protos(folder: str, ending: str) -> None:
    text = "".join(path.read_text() for path in (GENERATED / folder).glob(f"*.{ending}"))

    lines = lines_of_comments(packages=True)

    assert len(lines) > 400
    assert [line for line in lines if line not in text] == []


def test_descriptor_image_is_complete() -> None:
    names = {file.name for file in IMAGE.file}

    assert {name for file in IMAGE.file for name in file.dependency} <= names
    assert "google/rpc/error_details.proto" in names


def test_npm_package_has_the_version_of_the_service() -> None:
    service = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    package = json.loads((GENERATED / "typescript" / "package.json").read_text())

    assert package["version"] == service["version"]


def generate_without_tools(folder: Path, tools: str) -> subprocess.CompletedProcess[str]:
    """Generates clients without plugins."""
    shutil.copytree(ROOT / "protos", folder / "protos", dirs_exist_ok=True)
    return subprocess.run(
        [sys.executable, str(folder / "protos/generate_clients.py"), str(folder / "generated")],
        env={**os.environ, "ROSTER_TOOLS": tools},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.verify
def test_languages_without_plugins_are_skipped_and_reported(tmp_path: Path) -> None:
    done = generate_without_tools(tmp_path, "")

    assert done.returncode == 0, done.stderr
    for language in ("go", "typescript"):
        assert f"Neither written nor checked: generated/{language}." in done.stderr
    assert (tmp_path / "generated/roster.binpb").exists()


@pytest.mark.verify
def test_missing_plugins_are_an_error_if_tools_are_required(
    tmp_path: Path,
) -> None:
    done = generate_without_tools(tmp_path, "required")

    assert done.returncode == 1
    assert ".ci/tools/go installs it" in done.stderr
