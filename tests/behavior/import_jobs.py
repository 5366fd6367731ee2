"""Creates, uploads and runs imports as jobs over any front."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from hashlib import sha256
from typing import Any

from roster.v1 import imports_pb2 as pb

from ..conftest import Account
from ..fronts import GrpcFront, HttpFront, Response, to_json

FILE = (
    b"email,firstName,town\r\n"
    b"ada@example.com,Ada,Paris\r\n"
    b"bob@,Bob,Rome\r\n"
    b"eve@example.com,Eve,\r\n"
)
CREATE = {"unknownColumns": "CREATE_FIELDS"}

Job = dict[str, Any]
_ACTIVE = ("INSPECTING", "RUNNING")


def create(account: Account, content: bytes, **given: Any) -> Job:
    request = {"name": "members.csv", "size": len(content), **given}
    job: Job = account.ok("CreateImport", **request)["import"]
    return job


def send_part(account: Account, job: Job, data: bytes, offset: int = 0, **given: Any) -> Response:
    part = {"data": b64encode(data).decode()}
    return account.call("UploadImportPart", id=job["id"], offset=offset, part=part, **given)


def upload(account: Account, content: bytes, *, part_bytes: int = 1 << 20, **given: Any) -> Job:
    """Returns an import that is inspected."""
    job = create(account, content, sha256=sha256(content).hexdigest(), **given)
    for offset in range(0, len(content), part_bytes):
        response = send_part(account, job, content[offset : offset + part_bytes], offset)
        assert response.status == 200, response.body
    return settled(account, job)


def settled(account: Account, job: Job) -> Job:
    """Returns an import once none of its operations runs."""
    deadline = time.monotonic() + 60
    job = account.ok("GetImport", id=job["id"])["import"]
    while job["state"] in _ACTIVE:
        assert time.monotonic() < deadline, job
        time.sleep(0.01)
        job = account.ok("GetImport", id=job["id"])["import"]
    return job


def run(account: Account, job: Job, **given: Any) -> Job:
    return settled(account, account.ok("StartImport", id=job["id"], **given)["import"])


def run_file(account: Account, content: str | bytes, **options: Any) -> Job:
    """Imports a file, and returns the import when it has ended."""
    data = content if isinstance(content, bytes) else content.encode()
    job = upload(account, data, options=options)
    assert job["state"] == "READY", job
    assert job["problems"] == []
    return run(account, job)


def failures(account: Account, job: Job) -> list[dict[str, Any]]:
    if isinstance(account.front, HttpFront):
        path = f"/api/imports/{job['id']}/failures"
        status, _, body = account.front.exchange("GET", path, account.key)
        assert status == 200
        return [json.loads(line) for line in body.splitlines() if line]
    assert isinstance(account.front, GrpcFront)
    listed = account.front.channel.unary_stream(
        "/roster.v1.ImportService/ListImportFailures",
        request_serializer=pb.ListImportFailuresRequest.SerializeToString,
        response_deserializer=pb.ListImportFailuresResponse.FromString,
    )
    metadata = [("authorization", f"Bearer {account.key}")]
    replies = listed(pb.ListImportFailuresRequest(id=job["id"]), metadata=metadata, timeout=60)
    return [row for reply in replies for row in to_json(reply)["failures"]]
