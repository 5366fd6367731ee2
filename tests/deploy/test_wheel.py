"""The wheel contains everything, and runs from a read-only folder."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..components import free_port, running
from ..fronts import HttpFront
from ..processes import Service, environment, start
from ..stubs.authority import Authority

pytestmark = pytest.mark.verify

ROOT = Path(__file__).parents[2]
# Root can write every file. This gives up that capability and executes a program.
WITHOUT_CAPABILITY = """
import ctypes, os, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
HEALTHY = (sys.executable, "-m", "rosterd.server.deploy.healthy")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheels of the service and of its client package."""
    folder = tmp_path_factory.mktemp("built")
    for package in (ROOT, ROOT / "generated" / "python"):
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(build, cwd=package, check=True, capture_output=True, timeout=120)
    return sorted(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def unpacked(built: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A read-only folder with the content of the wheels."""
    folder = tmp_path_factory.mktemp("unpacked")
    for wheel in built:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)


@pytest.fixture(scope="module")
def installed(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that runs from the wheel, not from the checkout."""
    service = start(
        tmp_path_factory.mktemp("data"),
        under=(sys.executable, "-c", WITHOUT_CAPABILITY),
        PYTHONPATH=str(unpacked),
        PYTHONSAFEPATH="yes",
    )
    yield service
    assert service.stop() == 0


def test_modules_are_imported_from_the_wheel(unpacked: Path) -> None:
    env = environment(PYTHONPATH=str(unpacked), PYTHONSAFEPATH="yes")
    program = (
        sys.executable,
        "-B",
        "-c",
        "from rosterd import server, http_gateway; print(server.__file__)",
    )

    done = subprocess.run(program, env=env, stdout=subprocess.PIPE, text=True, timeout=60)

    assert done.stdout.strip() == f"{unpacked}/rosterd/server/__init__.py"


def test_wheel_contains_all_files_of_the_packages(unpacked: Path) -> None:
    console = ROOT / "server/console"
    packages = {
        ROOT / "server": "rosterd/server",
        ROOT / "http_gateway": "rosterd/http_gateway",
        ROOT / "generated/python/roster": "roster",
    }
    names = {
        name / path.relative_to(folder)
        for folder, name in packages.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
        # Of the console, only the built files are installed.
        if console not in path.parents or console / "built" in path.parents
    }

    assert len(names) > 200
    assert not [name for name in names if not (unpacked / name).exists()]


def packages_in(site: Path) -> set[str]:
    """Returns the importable names that are installed in a folder."""
    return {path.name for path in site.iterdir() if path.suffix != ".dist-info"}


@pytest.mark.parametrize("removed", ["roster", "roster-client"])
@pytest.mark.parametrize("reverse", [False, True], ids=["service first", "client first"])
def test_service_and_client_are_installed_and_removed_in_any_order(
    removed: str, reverse: bool, built: list[Path], tmp_path: Path
) -> None:
    venv.create(tmp_path, symlinks=True)
    python = tmp_path / "bin" / "python"
    (site,) = tmp_path.glob("lib/*/site-packages")
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(python)]

    for wheel in sorted(built, reverse=reverse):
        install = [*pip, "install", "--no-deps", "--no-index", str(wheel)]
        subprocess.run(install, check=True, timeout=120)
    both = packages_in(site)
    subprocess.run([*pip, "uninstall", "--yes", removed], check=True, timeout=120)

    assert both == {"roster", "rosterd"}
    assert packages_in(site) == ({"roster"} if removed == "roster" else {"rosterd"})
    assert (removed == "roster") == (site / "roster/v1/tags_pb2.py").exists()


def test_service_runs_from_a_read_only_folder(unpacked: Path, installed: Service) -> None:
    front = HttpFront("http", installed.http)
    pages = ("/readyz", "/openapi.json", "/docs", "/docs/guides/statuses", "/console/")

    assert {front.exchange("GET", page)[0] for page in pages} == {200}
    assert not list(unpacked.rglob("__pycache__"))
    console = unpacked / "rosterd/server/console"
    assert [each.name for each in console.iterdir()] == ["built"]


def test_service_writes_only_next_to_its_database_and_for_its_owner(
    installed: Service,
) -> None:
    written = {path.name: path for path in installed.database.parent.iterdir()}
    # The log belongs to the tests.
    del written[installed.log.name]

    endings = ("", "-shm", "-wal", ".key", ".lock")
    assert written.keys() == {f"roster.db{ending}" for ending in endings}
    assert {path.stat().st_mode & 0o077 for path in written.values()} == {0}


def healthy(address: str, **settings: str) -> bool:
    """Runs the health check of the container for an address."""
    env = environment(ROSTER_HTTP_ADDRESS=address, **settings)
    return subprocess.run(HEALTHY, env=env, cwd=ROOT, timeout=60).returncode == 0


def test_health_check_detects_whether_a_service_runs(installed: Service) -> None:
    assert healthy(installed.http)
    # In a container, the service listens on all addresses.
    assert healthy(f"0.0.0.0:{installed.http.rpartition(':')[2]}")
    assert not healthy(f"127.0.0.1:{free_port()}")


def test_health_check_uses_tls_if_certificates_are_set(tmp_path: Path) -> None:
    settings = {"ROSTER_DATABASE_URL": f"sqlite:///{tmp_path / 'roster.db'}"}
    for kind, text in zip(("CERTIFICATE", "KEY"), Authority().certify("server"), strict=True):
        (tmp_path / kind).write_bytes(text)
        settings[f"ROSTER_HTTP_TLS_{kind}"] = str(tmp_path / kind)

    with running("serve", tmp_path, **settings) as part:
        assert healthy(part.http, **settings)
        assert not healthy(part.http)
