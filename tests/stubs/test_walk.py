"""Tests programs in each language that use the stubs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import Account, new_account
from ..documents import CLIENTS, ROOT, code_blocks
from ..fronts import GrpcFront
from ..processes import Service, environment
from ..samples import GRPC, KEY, Terminal
from . import in_java
from .in_go import go_environment
from .in_python import OFFLINE
from .in_typescript import npm_environment
from .programs import BULK, CREATED, STEPS, Programs

pytestmark = pytest.mark.verify


@pytest.fixture
def account(service: Service, grpc_front: GrpcFront) -> Account:
    return new_account(service, grpc_front)


def test_program_completes_every_step(programs: Programs, account: Account) -> None:
    lines = programs.run(
        programs.walk, ROSTER_GRPC_ADDRESS=account.service.grpc, ROSTER_API_KEY=account.key
    )

    assert [json.loads(line)["step"] for line in lines] == STEPS
    first, *others = account.ok("ListSubscribers", limit=100)["subscribers"]
    assert [first["email"], *(row["email"] for row in others)] == [CREATED, *BULK]
    assert (first["lastName"], first["status"]) == ("Lovelace", "CONFIRMED")


@pytest.mark.parametrize(
    ("section", "make_environment"),
    [("Python", lambda: OFFLINE), ("Go", go_environment), ("TypeScript", npm_environment)],
    ids=["python", "go", "typescript"],
)
def test_documented_commands_create_a_subscriber(
    section: str, make_environment: Callable[[], dict[str, str]], account: Account, tmp_path: Path
) -> None:
    (tmp_path / "roster").symlink_to(ROOT)
    folder = tmp_path / "empty"
    folder.mkdir()
    replaced = {GRPC: account.service.grpc, KEY: account.key}
    terminal = Terminal(folder, {**environment(), **make_environment()}, replaced)

    first, *others = code_blocks(CLIENTS)
    for block in (first, *(block for block in others if block.section == section)):
        terminal.type(block)

    (created,) = account.ok("ListSubscribers")["subscribers"]
    assert terminal.output.split()[0] == created["id"]


def test_documented_java_program_creates_a_subscriber(
    account: Account, tmp_path_factory: pytest.TempPathFactory
) -> None:
    programs = in_java.make(tmp_path_factory.mktemp("java"))

    output = programs.run(
        programs.example, ROSTER_GRPC_ADDRESS=account.service.grpc, ROSTER_API_KEY=account.key
    )

    (created,) = account.ok("ListSubscribers")["subscribers"]
    assert output == [created["id"]]
