"""Tests the generated clients in the checkout."""

from __future__ import annotations

import json
import tomllib

import pytest

from ..documents import ROOT
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
