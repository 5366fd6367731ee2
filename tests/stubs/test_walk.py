"""Tests programs in each language that use the stubs."""

from __future__ import annotations

import json

import pytest

from ..conftest import Account, new_account
from ..documents import CLIENTS, code
from ..fronts import GrpcFront
from ..processes import Service
from .programs import BULK, CREATED, STEPS, Programs

pytestmark = pytest.mark.verify


def test_program_completes_every_step(
    programs: Programs, service: Service, grpc_front: GrpcFront
) -> None:
    account = new_account(service, grpc_front)

    lines = programs.run(
        programs.walk, ROSTER_GRPC_ADDRESS=service.grpc, ROSTER_API_KEY=account.key
    )

    assert [json.loads(line)["step"] for line in lines] == STEPS
    first, *others = account.ok("ListSubscribers", limit=100)["subscribers"]
    assert [first["email"], *(row["email"] for row in others)] == [CREATED, *BULK]
    assert (first["lastName"], first["status"]) == ("Lovelace", "CONFIRMED")


@pytest.fixture(scope="module")
def reader(service: Service, grpc_front: GrpcFront) -> Account:
    """An account for the examples: first the curl example, then that of each language."""
    account = new_account(service, grpc_front)
    account.ok("CreateSubscriber", email=CREATED)
    return account


def test_documented_example_creates_a_subscriber(
    programs: Programs, language: str, reader: Account
) -> None:
    command = programs.example(code(CLIENTS, f"example: {language}"))

    output = programs.run(
        command, ROSTER_GRPC_ADDRESS=reader.service.grpc, ROSTER_API_KEY=reader.key
    )

    (newest,) = reader.ok("ListSubscribers", order="desc", limit=1)["subscribers"]
    assert output == [newest["id"]]
