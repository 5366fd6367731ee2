"""A real program in each language does what users of the stubs do."""

from __future__ import annotations

import json

import pytest

from ..conftest import Account, new_account
from ..documents import CLIENTS, code
from ..fronts import GrpcFront
from ..processes import Service
from .programs import BULK, CREATED, STEPS, Programs

pytestmark = pytest.mark.verify


def test_program_takes_every_step(
    programs: Programs, service: Service, grpc_front: GrpcFront
) -> None:
    account = new_account(service, grpc_front)

    lines = programs.run(programs.walk, ROSTER_GRPC_ADDRESS=service.grpc, ROSTER_KEY=account.key)

    assert [json.loads(line)["step"] for line in lines] == STEPS
    found = account.ok("ListSubscribers", limit=100)["subscribers"]
    assert [each["email"] for each in found] == [CREATED, *BULK]
    assert (found[0]["lastName"], found[0]["status"]) == ("Lovelace", "CONFIRMED")


@pytest.fixture(scope="module")
def reader(service: Service, grpc_front: GrpcFront) -> Account:
    """The account of someone who has tried curl first, and then tries every language."""
    account = new_account(service, grpc_front)
    account.ok("CreateSubscriber", email=CREATED)
    return account


def test_example_of_the_readme_runs_after_those_of_other_languages(
    programs: Programs, language: str, reader: Account
) -> None:
    command = programs.example(code(CLIENTS, f"example: {language}"))

    said = programs.run(command, ROSTER_GRPC_ADDRESS=reader.service.grpc, ROSTER_KEY=reader.key)

    (newest,) = reader.ok("ListSubscribers", order="desc", limit=1)["subscribers"]
    assert said == [newest["id"]]
