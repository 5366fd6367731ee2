"""Calls a service through the HAProxy configuration in server/deploy."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from roster.v1 import tags_pb2, tags_pb2_grpc

from ..components import accepts_connections, free_port, wait_until
from ..faults.http2_attacks import ATTACKS, attack
from ..faults.test_many_connections import memory_of
from ..processes import Service, start
from ..stubs.authority import Authority
from ..tools import program

CONFIGURATION = Path(__file__).parents[2] / "server/deploy/haproxy.cfg"
# The memory that hostile clients may use in the service (promise 12).
MAX_MEBIBYTES = 64

pytestmark = pytest.mark.verify


@dataclass(frozen=True)
class Proxied:
    service: Service
    address: str
    authority: bytes

    def channel(self) -> grpc.Channel:
        return grpc.secure_channel(self.address, grpc.ssl_channel_credentials(self.authority))

    def metadata(self, key: str = "") -> list[tuple[str, str]]:
        return [("authorization", f"Bearer {key or self.service.first_key}")]

    def list_tags(self, key: str = "") -> int:
        with self.channel() as channel:
            reply = tags_pb2_grpc.TagServiceStub(channel).ListTags(
                tags_pb2.ListTagsRequest(), metadata=self.metadata(key), timeout=20
            )
        return int(reply.total)


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[Proxied]:
    haproxy = program("haproxy", "haproxy")
    authority = Authority()
    pem = tmp_path / "haproxy.pem"
    pem.write_bytes(b"".join(authority.certify("localhost")))
    service = start(tmp_path, ROSTER_TRUSTED_PROXIES="127.0.0.1/32", ROSTER_LOG_LEVEL="warning")
    address = f"127.0.0.1:{free_port()}"
    environment = {
        **os.environ,
        "ROSTER_PROXY_ADDRESS": address,
        "ROSTER_PROXY_CERTIFICATE": str(pem),
        "ROSTER_GRPC_ADDRESS": service.grpc,
    }
    with subprocess.Popen([haproxy, "-db", "-f", str(CONFIGURATION)], env=environment) as running:
        try:
            wait_until(lambda: accepts_connections(address), "HAProxy listens")
            yield Proxied(service, address, authority.certificate)
        finally:
            running.terminate()
    assert service.traces() == []
    assert service.stop() == 0


def test_calls_and_streams_pass_through_the_proxy(proxied: Proxied) -> None:
    assert proxied.list_tags() == 0

    requests: SimpleQueue[reflection_pb2.ServerReflectionRequest] = SimpleQueue()
    with proxied.channel() as channel:
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        replies = stub.ServerReflectionInfo(iter(requests.get, None), timeout=60)
        for _ in range(2):
            requests.put(reflection_pb2.ServerReflectionRequest(list_services=""))
            assert next(replies).list_services_response.service
        replies.cancel()


def test_address_that_fails_authentication_is_not_accepted_for_a_while(proxied: Proxied) -> None:
    failure: Callable[[], object] = lambda: proxied.list_tags("wrong")  # noqa: E731
    codes = [code_of(failure) for _ in range(310)]

    assert codes[0] is grpc.StatusCode.UNAUTHENTICATED
    assert codes[-1] is grpc.StatusCode.UNAVAILABLE
    assert code_of(proxied.list_tags) is grpc.StatusCode.UNAVAILABLE


def code_of(call: Callable[[], object]) -> grpc.StatusCode | None:
    try:
        call()
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return None


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_from_another_address_uses_little_memory(proxied: Proxied, name: str) -> None:
    before = memory_of(proxied.service)

    report = asyncio.run(
        attack(name, proxied.address, 5, connections=64, source="127.0.0.2", tls=True)
    )

    assert memory_of(proxied.service) - before < MAX_MEBIBYTES * 1024
    assert report.opened > 0
    assert proxied.list_tags() == 0
