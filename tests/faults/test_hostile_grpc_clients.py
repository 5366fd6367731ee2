"""Clients without an API key that attack the gRPC port of a service."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2

from rosterd.server.serving.grpc_options import MAX_CONNECTIONS, core_options

from ..fronts import health_stub
from ..processes import Service, start
from .http2_attacks import ACK, ATTACKS, PREFACE, RST_STREAM, SETTINGS, attack, frame, settings
from .test_many_connections import memory_of

# What the worst attack may add: 2,000 calls that wait for their message, 3,000 that have not
# started, and the streams of the connections.
MAX_MEBIBYTES = 192
SECONDS = 5
REFUSED_STREAM = 7


@pytest.fixture
def attacked(tmp_path: Path) -> Iterator[Service]:
    service = start(tmp_path, ROSTER_LOG_LEVEL="warning")
    yield service
    assert service.traces() == []
    assert service.stop() == 0


def is_serving(service: Service) -> bool:
    """Waits over a new connection until the service serves. Retries while calls are rejected."""
    with grpc.insecure_channel(service.grpc) as channel:
        watched = health_stub(channel).Watch(
            health_pb2.HealthCheckRequest(), timeout=60, wait_for_ready=True
        )
        return any(each.status == health_pb2.HealthCheckResponse.SERVING for each in watched)


def connect(service: Service) -> socket.socket:
    host, _, port = service.grpc.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=30)


@pytest.mark.verify
@pytest.mark.parametrize("name", ATTACKS)
def test_attack_uses_bounded_memory_and_the_service_continues(attacked: Service, name: str) -> None:
    before = memory_of(attacked)

    report = asyncio.run(attack(name, attacked.grpc, SECONDS, connections=64))

    assert memory_of(attacked) - before < MAX_MEBIBYTES * 1024
    assert report.opened > 0
    assert is_serving(attacked)


@pytest.mark.verify
@pytest.mark.parametrize("name", ["pings", "pings_in_a_call", "empty_continuations", "empty_data"])
def test_flood_of_frames_closes_its_connection(attacked: Service, name: str) -> None:
    report = asyncio.run(attack(name, attacked.grpc, SECONDS, connections=1))

    assert report.closed > 0
    assert is_serving(attacked)


def test_connections_over_the_limit_are_closed(attacked: Service) -> None:
    with ExitStack() as stack:
        for _ in range(MAX_CONNECTIONS):
            client = stack.enter_context(connect(attacked))
            client.sendall(PREFACE + settings())
            assert client.recv(1) != b""

        with connect(attacked) as refused:
            assert refused.recv(1) == b""

    assert is_serving(attacked)


def test_calls_over_the_limit_of_a_connection_are_refused(attacked: Service) -> None:
    limit = dict(core_options())["grpc.max_concurrent_streams"]
    with connect(attacked) as client:
        client.sendall(PREFACE + settings() + frame(SETTINGS, ACK, 0))
        client.sendall(b"".join(islice(ATTACKS["open_calls"](), limit + 1)))
        with client.makefile("rb") as frames:
            while (header := frames.read(9))[3] != RST_STREAM:
                frames.read(int.from_bytes(header[:3]))
            code = int.from_bytes(frames.read(4))

    assert (int.from_bytes(header[5:]), code) == (2 * limit + 1, REFUSED_STREAM)


@pytest.mark.verify
def test_connection_without_a_preface_is_closed(attacked: Service) -> None:
    with connect(attacked) as client:
        while client.recv(1_024):
            pass  # the server's settings
