"""Runs the container image with a read-only root file system."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ...components import free_port, status_of, wait_until
from .machine import Image, Machine, machine

pytestmark = pytest.mark.verify

NAMES = {f"roster.db{ending}" for ending in ("", "-shm", "-wal", ".key", ".lock")}


@contextmanager
def running(image: Image, volume: Path, address: str, **settings: str) -> Iterator[Machine]:
    """Runs a container of the image for the length of a block."""
    config = image.config
    volume.mkdir(exist_ok=True)
    os.chown(volume, *map(int, config["User"].split(":")))
    (inside,) = config["Volumes"]
    settings = {
        "ROSTER_HTTP_ADDRESS": address,
        "ROSTER_GRPC_ADDRESS": "0.0.0.0:0",
        "ROSTER_METRICS_ADDRESS": "127.0.0.1:0",
        **settings,
    }
    flags = (
        *("--read-only", "--tmpfs=/tmp", f"--bind={volume}:{inside}"),
        f"--chdir={config['WorkingDir']}",
    )
    words = as_its_user(image, [*config["Entrypoint"], *config["Cmd"]], settings)
    with machine(image, volume.with_name("log"), *flags, words=words) as container:
        yield container


def as_its_user(image: Image, words: list[str], settings: dict[str, str]) -> list[str]:
    """Returns the command that runs a program as a container engine does, without privileges."""
    user, group = image.config["User"].split(":")
    rights = ("--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")
    given = [*image.config["Env"], *(f"{name}={value}" for name, value in settings.items())]
    return ["env", *given, "setpriv", f"--reuid={user}", f"--regid={group}", *rights, *words]


def is_healthy(image: Image, container: Machine, address: str) -> bool:
    """Runs the health check of the image."""
    kind, *words = image.config["Healthcheck"]["Test"]
    assert kind == "CMD"
    settings = {"ROSTER_HTTP_ADDRESS": address}
    return container.run(*as_its_user(image, words, settings)).returncode == 0


def is_ready(address: str) -> bool:
    """Returns whether the service is ready."""
    try:
        return status_of(address, "/readyz") == 200
    except OSError:
        return False


def test_container_serves_stops_with_0_and_writes_to_its_volume_only(
    image: Image, tmp_path: Path
) -> None:
    port, volume = free_port(), tmp_path / "volume"
    everywhere, plain = f"0.0.0.0:{port}", {"ROSTER_DANGEROUSLY_IN_PLAINTEXT": "true"}

    for _ in ("new volume", "existing volume"):
        with running(image, volume, everywhere, **plain) as container:
            wait_until(lambda: is_ready(f"127.0.0.1:{port}"), "the service is not ready")
            assert is_healthy(image, container, everywhere)
            assert not is_healthy(image, container, f"0.0.0.0:{free_port()}")
            assert {path.name for path in volume.iterdir()} == NAMES

            os.kill(container.first, getattr(signal, image.config["StopSignal"]))

            assert container.process.wait(timeout=60) == 0, container.log.read_text()

    log = (tmp_path / "log").read_text()
    assert "database  /data/roster.db" in log
    assert {path.stat().st_mode & 0o077 for path in volume.iterdir()} == {0}


def test_container_without_certificates_requires_the_setting_for_plaintext(
    image: Image, tmp_path: Path
) -> None:
    with running(image, tmp_path / "volume", f"0.0.0.0:{free_port()}") as container:
        code = container.process.wait(timeout=60)

    assert code == 2, container.log.read_text()
    assert "ROSTER_DANGEROUSLY_IN_PLAINTEXT" in container.log.read_text()


def test_root_file_system_is_read_only(image: Image, tmp_path: Path) -> None:
    words = ["touch", "/opt/roster/new", "/etc/new", "/new"]

    with machine(image, tmp_path / "log", "--read-only", words=words) as container:
        container.process.wait(timeout=60)

    assert container.log.read_text().count("Read-only file system") == len(words) - 1


@pytest.mark.parametrize("name", ["pytest", "ruff", "mypy", "uv", "pip"])
def test_image_has_no_development_tools(image: Image, name: str) -> None:
    assert not list((image.folder / "opt/roster").rglob(f"**/site-packages/{name}"))
    assert not (image.folder / "opt/roster/bin" / name).exists()


def test_image_contains_bytecode_of_every_module(
    image: Image,
) -> None:
    packages = image.folder / "opt/roster/lib/python3.11/site-packages"
    modules = [path for path in packages.rglob("*.py") if path.stat().st_size]

    assert len(modules) > 1000
    assert not [path for path in modules if not bytecode_of(path).exists()]


def bytecode_of(module: Path) -> Path:
    return module.with_name("__pycache__") / f"{module.stem}.cpython-311.pyc"
