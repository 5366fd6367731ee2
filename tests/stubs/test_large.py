"""Tests clients with default settings, which accept messages of up to 4 MiB."""

from __future__ import annotations

import json

import pytest

from ..behavior.large_values import create_large_subscribers, with_fields
from ..conftest import new_account
from ..fronts import GrpcFront
from ..processes import Service
from .programs import Programs

pytestmark = pytest.mark.verify


def test_client_receives_subscribers_of_maximum_size(
    programs: Programs, service: Service, grpc_front: GrpcFront
) -> None:
    account = new_account(service, grpc_front)
    create_large_subscribers(with_fields(account), 150)

    (line,) = programs.run(
        programs.large, ROSTER_GRPC_ADDRESS=service.grpc, ROSTER_API_KEY=account.key
    )

    assert json.loads(line) == {"listed": 100, "exported": 150}
