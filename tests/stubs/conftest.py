"""The languages with their programs, which are built once, and the Python client channels."""

from __future__ import annotations

import importlib

import pytest

from .callers import Caller, call, call_aio
from .programs import FOLDER, Programs

LANGUAGES = sorted(path.stem.removeprefix("in_") for path in FOLDER.glob("in_*.py"))


@pytest.fixture(scope="session", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def programs(language: str, tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """The programs of the language. Skips the test if its tools are missing."""
    module = importlib.import_module(f"{__package__}.in_{language}")
    built: Programs = module.make(tmp_path_factory.mktemp(language))
    return built


@pytest.fixture(params=[call, call_aio], ids=["blocking", "asyncio"])
def caller(request: pytest.FixtureRequest) -> Caller:
    selected: Caller = request.param
    return selected
