"""What a service writes and tells, after a run of all operations: no key, no secret, nobody."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from ..conftest import new_account
from ..fronts import METHODS, UNARY, GrpcFront, HttpFront
from ..processes import start
from .everything import IN_URL, everything
from .helpers import page_of, place_of

_ADDRESS = re.compile(rb"[^\s\"@]+@[^\s\"@]+")
# Whatever looks like a key or the secret of a webhook, whoever's it may be.
_SECRET = re.compile(rb"rk_[0-9A-Za-z]{46}|whsec_[0-9A-Za-z+/]{40}")


@dataclass(frozen=True)
class Left:
    """What a run left: the secrets that it was given, what was told, and what is on the disk."""

    secrets: set[str]
    log: bytes
    metrics: bytes
    disk: dict[str, bytes]


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    """All operations over both fronts; the files are those of a service that still runs."""
    folder = tmp_path_factory.mktemp("secrets")
    service = start(folder, ROSTER_LOG_LEVEL="debug")
    try:
        grpc = GrpcFront(service.grpc)
        secrets = {service.first_key}
        for front in (HttpFront("http", service.http), grpc):
            account = new_account(service, front)
            secrets |= {account.key, *everything(account)}
        grpc.channel.close()
        metrics = page_of(place_of(service.printed)).encode()
        disk = {path.name: path.read_bytes() for path in folder.glob("roster.db*")}
    finally:
        code = service.stop()
    assert code == 0
    return Left(secrets, service.log.read_bytes(), metrics, disk)


def forms(secret: str) -> Iterator[bytes]:
    """Yields a secret as it is given, and the bytes that one of a webhook stands for."""
    yield secret.encode()
    kind, _, text = secret.partition("_")
    if kind == "whsec":
        yield base64.b64decode(text)


def found(text: bytes, secrets: set[str]) -> set[bytes]:
    """Returns the secrets that a text has, and what looks like one."""
    known = {form for secret in secrets for form in forms(secret) if form in text}
    return known | set(_SECRET.findall(text))


def test_run_has_called_every_operation_and_was_given_secrets(left: Left) -> None:
    called = {json.loads(line).get("rpc", "").rpartition(".")[2] for line in left.log.splitlines()}

    assert UNARY.keys() - called == set()
    streams = {"ExportSubscribers", "ImportSubscribers", "TailWebhookDeliveries"}
    assert METHODS.keys() - UNARY.keys() <= called | streams
    assert {secret.partition("_")[0] for secret in left.secrets} == {"rk", "whsec"}
    assert len(left.secrets) > 12


def test_no_line_has_a_key_a_secret_or_an_address(left: Left) -> None:
    assert found(left.log, left.secrets) == set()
    assert not _ADDRESS.search(left.log)
    assert b"Lovelace" not in left.log
    assert IN_URL.encode() not in left.log


def test_no_figure_has_a_key_a_secret_or_an_address(left: Left) -> None:
    assert b"roster_rpc_calls_total" in left.metrics
    assert found(left.metrics, left.secrets) == set()
    assert not _ADDRESS.search(left.metrics)
    assert b"Lovelace" not in left.metrics
    assert IN_URL.encode() not in left.metrics


@pytest.mark.parametrize("name", ["roster.db", "roster.db-wal", "roster.db-shm", "roster.db.lock"])
def test_no_file_of_the_database_has_a_key_or_a_secret_in_the_clear(left: Left, name: str) -> None:
    assert found(left.disk[name], left.secrets) == set()


def test_secret_key_is_in_its_own_file_alone(left: Left) -> None:
    text = left.disk["roster.db.key"].strip()
    key = base64.b64decode(text)

    others = [content for name, content in left.disk.items() if name != "roster.db.key"]
    assert not [each for each in (*others, left.log, left.metrics) if text in each or key in each]


def test_what_is_looked_for_is_found_where_it_is(left: Left) -> None:
    # The file holds what is no secret as it was given, so a secret could be seen there.
    everything_on_disk = b"".join(left.disk.values())

    assert IN_URL.encode() in everything_on_disk
    assert all(found(form, {secret}) for secret in left.secrets for form in forms(secret))
