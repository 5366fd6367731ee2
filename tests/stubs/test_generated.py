"""Tests the generated clients in the checkout."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from ..documents import ROOT
from ..releases import commit_of, extract, versions
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


def test_clients_have_the_version_of_the_service() -> None:
    service, python = (
        tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        for folder in (ROOT, GENERATED / "python")
    )
    npm = json.loads((GENERATED / "typescript" / "package.json").read_text())

    version = service["version"]
    assert (python["version"], npm["version"]) == (version, version)
    assert f"roster-client=={version}" in service["dependencies"]


def test_released_definitions_are_those_of_the_newest_version(tmp_path: Path) -> None:
    newest, *_ = versions()
    commit = commit_of(newest) or pytest.skip(f"this checkout does not have {newest}")
    extract(commit, tmp_path, "protos", "pyproject.toml")

    image = tmp_path / "image.binpb"
    subprocess.run(
        [sys.executable, tmp_path / "protos" / "generate.py", "--image", image],
        check=True,
        timeout=60,
    )

    assert definitions(ROOT / "protos" / "released.binpb") == definitions(image)


def definitions(image: Path) -> dict[str, FileDescriptorProto]:
    """Returns the files of roster/v1 in a descriptor image by name, without comments."""
    found = {}
    for file in FileDescriptorSet.FromString(image.read_bytes()).file:
        file.ClearField("source_code_info")
        if file.package == "roster.v1":
            found[file.name] = file
    return found
