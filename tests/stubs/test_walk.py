"""A real program in each language does what users of the stubs do."""

from __future__ import annotations

import json

from ..conftest import new_account
from ..fronts import GrpcFront
from ..processes import Service
from .programs import BULK, CREATED, STEPS, Programs, readme_code


def test_program_takes_every_step(
    programs: Programs, service: Service, grpc_front: GrpcFront
) -> None:
    account = new_account(service, grpc_front)

    lines = programs.run(programs.walk, ROSTER_GRPC_ADDRESS=service.grpc, ROSTER_KEY=account.key)

    assert [json.loads(line)["step"] for line in lines] == STEPS
    found = account.ok("ListSubscribers", limit=100)["subscribers"]
    assert [each["email"] for each in found] == [CREATED, *BULK]
    assert (found[0]["lastName"], found[0]["status"]) == ("Lovelace", "CONFIRMED")


def test_example_of_the_readme_runs(
    programs: Programs, language: str, service: Service, grpc_front: GrpcFront
) -> None:
    account = new_account(service, grpc_front)
    command = programs.example(readme_code(f"example: {language}"))

    said = programs.run(command, ROSTER_GRPC_ADDRESS=service.grpc, ROSTER_KEY=account.key)

    assert said == [account.ok("GetSubscriber", id=CREATED)["subscriber"]["id"]]
