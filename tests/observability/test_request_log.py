"""Tests the log line of each call."""

from __future__ import annotations

import asyncio
import json
import os
from select import PIPE_BUF
from typing import Any
from unittest.mock import patch

import pytest

from rosterd.server.observability.log_writer import LogWriter
from rosterd.server.observability.request_log import RequestLog
from rosterd.server.observability.request_record import RequestRecord

from ..components import wait_until
from ..conftest import Account
from ..fronts import HttpFront
from .helpers import lines_of


def written(*records: RequestRecord, level: str = "info", sampling: int = 1) -> list[bytes]:
    """Returns the chunks in which the lines of records are written."""
    chunks: list[bytes] = []

    def write(_descriptor: int, data: bytes) -> int:
        chunks.append(data)
        return len(data)

    async def log() -> None:
        writer = LogWriter(7)
        request_log = RequestLog(level, sampling, writer)
        for record in records:
            request_log.write(record)
        request_log.flush()
        writer.flush()

    with patch.object(os, "write", write):
        asyncio.run(log())
    return chunks


def http_record(route: str, status: int) -> RequestRecord:
    record = RequestRecord("abc")
    record.method, record.route, record.status = "GET", route, status
    return record


def test_lines_are_written_in_chunks_that_a_pipe_does_not_interleave() -> None:
    chunks = written(*(RequestRecord(str(number)) for number in range(100)))

    assert len(chunks) > 1
    assert max(map(len, chunks)) <= PIPE_BUF
    assert {chunk[-1:] for chunk in chunks} == {b"\n"}
    lines = [json.loads(line) for line in b"".join(chunks).splitlines()]
    assert [line["requestId"] for line in lines] == [str(number) for number in range(100)]


@pytest.mark.parametrize(
    ("route", "status", "lines"),
    [("/healthz", 200, 0), ("/readyz", 200, 0), ("/readyz", 503, 1), ("/docs", 200, 1)],
)
def test_only_failed_health_checks_are_logged(route: str, status: int, lines: int) -> None:
    assert b"".join(written(http_record(route, status))).count(b"\n") == lines


SUCCESSES_AND_FAILURES = (200, 200, 404, 503, 204, 200)


@pytest.mark.parametrize(
    ("sampling", "level", "statuses"),
    [
        (1, "info", [200, 200, 404, 503, 204, 200]),
        (3, "info", [200, 404, 503, 200]),
        (0, "info", [404, 503]),
        (1, "warning", [503]),
    ],
)
def test_successes_are_sampled_and_faults_of_the_service_are_warnings(
    sampling: int, level: str, statuses: list[int]
) -> None:
    records = [http_record("/docs", status) for status in SUCCESSES_AND_FAILURES]

    chunks = written(*records, level=level, sampling=sampling)

    lines = [json.loads(line) for line in b"".join(chunks).splitlines()]
    assert [line["status"] for line in lines] == statuses
    assert {line["status"] for line in lines if line["level"] == "warning"} == {503}


@pytest.mark.parametrize("front_and_service", ["http"], indirect=True)
def test_in_process_request_has_one_line(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    created = account.ok("CreateApiKey", name='"Ünï\\', scope="write")
    body = b'{"name": "vip"}'
    path, key = "/api/tags", created["secret"]
    _, headers, response = account.front.exchange("POST", path, key, body=body)

    (line,) = lines_of(account.service.log, headers["x-request-id"])

    assert line.pop("time") > "2026"
    assert line.pop("durationMs") > 0
    assert line == {
        "level": "info",
        "message": "call",
        "method": "POST",
        "status": 201,
        "rpc": "TagService.CreateTag",
        "code": "OK",
        "received": len(body),
        "sent": len(response),
        "accountId": account.id,
        "keyId": created["apiKey"]["id"],
        "keyName": created["apiKey"]["name"],
        "clientAddress": "127.0.0.1",
        "requestId": headers["x-request-id"],
    }


@pytest.mark.parametrize("front_and_service", ["http-over-grpc"], indirect=True)
def test_request_over_grpc_has_a_line_of_gateway_and_server(
    account: Account,
) -> None:
    assert isinstance(account.front, HttpFront)
    _, headers, _ = account.front.exchange("GET", "/api/tags", account.key)
    log, request_id = account.service.log, headers["x-request-id"]

    wait_until(lambda: len(lines_of(log, request_id)) == 2, "two lines")

    server, gateway = sorted(lines_of(log, request_id), key=lambda line: "status" in line)
    assert (server["rpc"], server["code"], server["accountId"]) == (
        "TagService.ListTags",
        "OK",
        account.id,
    )
    assert (gateway["rpc"], gateway["status"]) == ("TagService.ListTags", 200)
    assert (server["clientAddress"], gateway["clientAddress"]) == ("127.0.0.1", "127.0.0.1")
    assert server["sent"] > 0


@pytest.mark.parametrize("front_and_service", ["http"], indirect=True)
@pytest.mark.parametrize(
    ("method", "path", "key", "body", "expected"),
    [
        ("POST", "/api/tags", True, b"{", (400, "TagService.CreateTag", "INVALID_ARGUMENT")),
        ("GET", "/api/tags", False, None, (401, "TagService.ListTags", "UNAUTHENTICATED")),
        ("GET", "/nothing", False, None, (404, None, None)),
        ("DELETE", "/api/tags", True, None, (405, None, None)),
        ("PROPFIND", "/api/tags", True, None, (405, None, None)),
        ("GET", "/openapi.json", False, None, (200, None, None)),
    ],
)
def test_rejected_requests_are_logged(
    account: Account,
    method: str,
    path: str,
    key: bool,
    body: bytes | None,
    expected: tuple[Any, ...],
) -> None:
    assert isinstance(account.front, HttpFront)
    headers = account.front.exchange(method, path, account.key if key else None, body=body)[1]

    (line,) = lines_of(account.service.log, headers["x-request-id"])

    assert (line["status"], line.get("rpc"), line.get("code")) == expected
    assert line["clientAddress"] == "127.0.0.1"
    assert line["method"] == (method if method != "PROPFIND" else "OTHER")
