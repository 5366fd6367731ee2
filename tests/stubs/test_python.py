"""Tests the Python package: files, types, and dependencies."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .. import tools
from ..conftest import new_account
from ..documents import CLIENTS, ROOT, code
from ..fronts import GrpcFront
from ..processes import Service
from .in_python import SOURCES, install, programs


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `generated/python`, installed by pip."""
    return install(tmp_path_factory.mktemp("installed"))


def run(*command: str | Path, site: Path | None = None, folder: Path | None = None) -> str:
    """Runs a command and returns its output, which is also in the assertion error if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(site or "")}
    done = subprocess.run(
        [str(part) for part in command],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def mypy(*arguments: str | Path, site: Path | None = None, folder: Path) -> None:
    """Checks types strictly, without a configuration file."""
    cache = ROOT / ".mypy_cache" / "stubs"
    strict = ["--strict", "--config-file=", f"--cache-dir={cache}"]
    run(sys.executable, "-m", "mypy", *strict, *arguments, site=site, folder=folder)


@pytest.mark.verify
def test_programs_pass_the_type_check(site: Path, tmp_path: Path) -> None:
    example = tmp_path / "example.py"
    example.write_text(code(CLIENTS, "example: example.py"))

    mypy(example, *SOURCES.glob("*.py"), site=site, folder=tmp_path)


@pytest.mark.verify
def test_client_module_passes_the_type_check(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.symlink_to(ROOT / "generated" / "python")

    mypy("-p", "roster.client", folder=sources)


@pytest.mark.verify
@pytest.mark.parametrize("order", ["{0}\n{1}", "{1}\n{0}"], ids=["before", "after"])
def test_stubs_and_protovalidate_can_be_imported_together(order: str, site: Path) -> None:
    imports = order.format(
        "import protovalidate", "from roster.v1.tags_pb2 import CreateTagRequest"
    )
    check = "assert protovalidate.collect_violations(CreateTagRequest())"

    run(sys.executable, "-c", f"{imports}\n{check}", site=site)


def test_package_has_the_version_of_the_service() -> None:
    files = (ROOT / "pyproject.toml", ROOT / "generated" / "python" / "pyproject.toml")
    service, package = (tomllib.loads(file.read_text())["project"] for file in files)

    assert package["version"] == service["version"]
    assert package["requires-python"] == service["requires-python"]


@pytest.mark.verify
def test_package_declares_all_dependencies(
    service: Service, grpc_front: GrpcFront, site: Path, tmp_path: Path
) -> None:
    interpreter = str(tools.file("python/bin/python", "python"))
    key = new_account(service, grpc_front).key
    installed = programs(site, interpreter)

    installed.run(installed.walk, ROSTER_GRPC_ADDRESS=service.grpc, ROSTER_API_KEY=key)
    mypy("--python-executable", interpreter, *SOURCES.glob("*.py"), site=site, folder=tmp_path)
