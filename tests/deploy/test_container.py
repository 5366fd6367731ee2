"""Checks that the files, settings and commands in the Containerfile exist."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import tomllib
from pathlib import Path

from rosterd.server import cli
from rosterd.server.config import SETTINGS
from rosterd.server.values.database_url import parse_database_url

ROOT = Path(__file__).parents[2]
FILE = (ROOT / "server/deploy/Containerfile").read_text()
STEPS = [
    (word, rest)
    for word, _, rest in (
        line.partition(" ")
        for line in FILE.replace("\\\n", " ").splitlines()
        if line and not line.startswith("#")
    )
]


def steps(word: str) -> list[str]:
    """Returns the arguments of an instruction."""
    return [rest for each, rest in STEPS if each == word]


def test_both_stages_use_the_required_version_of_python() -> None:
    bases = {rest.partition(" ")[0] for rest in steps("FROM")}
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]

    (base,) = bases
    version = re.fullmatch(r"docker\.io/library/python:(\d+\.\d+)-slim-\w+", base)
    assert version
    assert needs == f">={version[1]}"


def test_copied_files_exist() -> None:
    copied = [rest.split() for rest in steps("COPY") if not rest.startswith("--from")]

    assert copied
    assert not [name for *names, _ in copied for name in names if not (ROOT / name).exists()]


def test_packages_of_the_wheel_are_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    copied = [name for rest in steps("COPY") for name in rest.split()[:-1]]

    assert not [
        package for package in packages if not any(Path(package).is_relative_to(n) for n in copied)
    ]


def test_settings_exist_and_the_database_is_on_the_volume() -> None:
    words = [word.split("=", 1) for word in shlex.split(steps("ENV")[0])]
    settings = {name: value for name, value in words if name.startswith("ROSTER_")}
    (volume,) = steps("VOLUME")

    assert settings.keys() <= {setting.environment for setting in SETTINGS.values()}
    assert parse_database_url(settings["ROSTER_DATABASE_URL"]) == Path(volume, "roster.db")
    assert "ROSTER_DANGEROUSLY_IN_PLAINTEXT" not in settings


def test_unprivileged_user_runs_an_existing_command() -> None:
    start = [*json.loads(steps("ENTRYPOINT")[0]), *json.loads(steps("CMD")[0])]

    assert [int(part) > 0 for part in steps("USER")[0].split(":")] == [True, True]
    assert start[0] == "roster"
    assert start[1] in cli.app.commands


def test_health_check_runs_an_existing_module() -> None:
    words = json.loads(steps("HEALTHCHECK")[0].partition(" CMD ")[2])

    assert words[:2] == ["python", "-m"]
    assert importlib.util.find_spec(words[2])
