"""Tests that logs, metrics and database files contain no secrets or personal data."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from rosterd.server.values.ids import is_id

from ..fronts import METHODS, UNARY, GrpcFront, HttpFront
from ..processes import start
from .helpers import get, metrics_url
from .operations import URL_TOKEN, call_every_operation

_ADDRESS = re.compile(rb"[^\s\"@]+@[^\s\"@]+")
# The shape of API keys and webhook secrets.
_SECRET = re.compile(rb"rk_[0-9A-Za-z]{46}|whsec_[0-9A-Za-z+/]{40}")
# The start of the token of a link.
_TOKEN = re.compile(rb"[cu][0-7][0-9A-Z]{25}[0-7][0-9A-Z]{25}")


@dataclass(frozen=True)
class Output:
    """The secrets that a service used, and everything that it has written."""

    secrets: set[str]
    log: bytes
    metrics: bytes
    disk: dict[str, bytes]


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Output:
    """The output after all operations over both fronts; the files are read before the stop."""
    folder = tmp_path_factory.mktemp("secrets")
    service = start(folder, ROSTER_LOG_LEVEL="debug")
    try:
        grpc = GrpcFront(service.grpc)
        secrets = {service.first_key}
        for front in (HttpFront("http", service.http), grpc):
            secrets |= call_every_operation(service, front)
        grpc.channel.close()
        metrics = get(metrics_url(service.printed)).encode()
        disk = {path.name: path.read_bytes() for path in folder.glob("roster.db*")}
    finally:
        code = service.stop()
    assert code == 0
    return Output(secrets, service.log.read_bytes(), metrics, disk)


def forms(secret: str) -> Iterator[bytes]:
    """Yields a secret as text, and the decoded bytes of a webhook secret."""
    yield secret.encode()
    kind, _, text = secret.partition("_")
    if kind == "whsec":
        yield base64.b64decode(text)


def secrets_in(text: bytes, secrets: set[str]) -> set[bytes]:
    """Returns the secrets in a text, and text of the shape of a secret."""
    known = {form for secret in secrets for form in forms(secret) if form in text}
    return known | set(_SECRET.findall(text))


def test_every_operation_was_called_and_returned_secrets(output: Output) -> None:
    called = {
        json.loads(line).get("rpc", "").rpartition(".")[2] for line in output.log.splitlines()
    }

    assert UNARY.keys() - called == set()
    streams = {
        "ExportAuditEntries",
        "ExportSubscribers",
        "ExportSuppressions",
        "ImportSubscribers",
        "ImportSuppressions",
        "TailWebhookDeliveries",
    }
    assert METHODS.keys() - UNARY.keys() <= called | streams
    kinds = {"token" if is_id(each[:26]) else each.partition("_")[0] for each in output.secrets}
    assert kinds == {"rk", "whsec", "token"}
    assert len(output.secrets) > 12


def test_log_has_no_key_secret_or_address(output: Output) -> None:
    assert secrets_in(output.log, output.secrets) == set()
    assert not _TOKEN.search(output.log)
    assert not _ADDRESS.search(output.log)
    assert b"Lovelace" not in output.log
    assert URL_TOKEN.encode() not in output.log


def test_metrics_have_no_key_secret_or_address(output: Output) -> None:
    assert b"roster_rpc_calls_total" in output.metrics
    assert secrets_in(output.metrics, output.secrets) == set()
    assert not _ADDRESS.search(output.metrics)
    assert b"Lovelace" not in output.metrics
    assert URL_TOKEN.encode() not in output.metrics


@pytest.mark.parametrize("name", ["roster.db", "roster.db-wal", "roster.db-shm", "roster.db.lock"])
def test_database_files_have_no_key_or_secret_in_plaintext(output: Output, name: str) -> None:
    assert secrets_in(output.disk[name], output.secrets) == set()


def test_secret_key_is_only_in_its_file(output: Output) -> None:
    text = output.disk["roster.db.key"].strip()
    key = base64.b64decode(text)

    others = [content for name, content in output.disk.items() if name != "roster.db.key"]
    contents = (*others, output.log, output.metrics)
    assert not [content for content in contents if text in content or key in content]
