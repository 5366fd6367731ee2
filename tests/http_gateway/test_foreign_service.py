"""The gateway in front of a service that it knows nothing of, with the default policy."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from google.protobuf import descriptor_pool, empty_pb2
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc_status import rpc_status

from rosterd.http_gateway.codec import fields
from rosterd.http_gateway.openapi.document import document
from rosterd.http_gateway.options import Options

from .client import Client, ReceivedResponse
from .routing.protos import compiled
from .serving import gateway_to, run

SHELVES = compiled("""
    syntax = "proto3";
    package archive.v1;

    import "google/api/annotations.proto";
    import "google/protobuf/empty.proto";

    message Volume { string name = 1; string title = 2; int32 pages = 3; }
    message ListRequest { int32 page_size = 1; }
    message ListResponse { repeated Volume volumes = 1; }
    message NameRequest { string name = 1; }
    message WriteRequest { Volume volume = 1; }

    service ArchiveService {
      rpc List(ListRequest) returns (ListResponse) {
        option (google.api.http) = {get: "/v1/volumes"};
      }
      rpc Get(NameRequest) returns (Volume) {
        option (google.api.http) = {get: "/v1/{name=volumes/*}"};
      }
      rpc Create(WriteRequest) returns (Volume) {
        option (google.api.http) = {post: "/v1/volumes" body: "volume"};
      }
      rpc Update(WriteRequest) returns (Volume) {
        option (google.api.http) = {put: "/v1/{volume.name=volumes/*}" body: "volume"};
      }
      rpc Delete(NameRequest) returns (google.protobuf.Empty) {
        option (google.api.http) = {delete: "/v1/{name=volumes/*}"};
      }
    }
""").services_by_name["ArchiveService"]
VOLUMES = GetMessageClass(SHELVES.methods_by_name["List"].output_type)
Handler = Callable[[Any, Any], Awaitable[Any]]


class Archive:
    """A service with volumes in memory, which fails as services elsewhere do."""

    def __init__(self) -> None:
        self.volumes: dict[str, Any] = {}

    async def list(self, request: Any, _context: Any) -> Any:
        return VOLUMES(volumes=list(self.volumes.values())[: request.page_size or None])

    async def get(self, request: Any, context: Any) -> Any:
        if request.name in self.volumes:
            return self.volumes[request.name]
        info = error_details_pb2.ErrorInfo(
            reason="VOLUME_LOST", domain="archive.example.com", metadata={"name": request.name}
        )
        packed = AnyMessage()
        packed.Pack(info)
        number: int = StatusCode.NOT_FOUND.value[0]
        status = status_pb2.Status(code=number, message="No such volume.", details=[packed])
        return await context.abort_with_status(rpc_status.to_status(status))

    async def create(self, request: Any, context: Any) -> Any:
        if not request.volume.title:
            await context.abort(StatusCode.INVALID_ARGUMENT, "A volume needs a title.")
        volume = request.volume
        volume.name = f"volumes/{len(self.volumes) + 1}"
        self.volumes[volume.name] = volume
        return volume

    async def update(self, request: Any, context: Any) -> Any:
        if request.volume.title == "crash":
            raise LookupError("secret")
        self.volumes[request.volume.name] = request.volume
        return request.volume

    async def delete(self, request: Any, _context: Any) -> Any:
        del self.volumes[request.name]
        return empty_pb2.Empty()

    def handlers(self) -> dict[str, Handler]:
        names = ("List", "Get", "Create", "Update", "Delete")
        return {name: getattr(self, name.lower()) for name in names}


def exchange(kind: str, *requests: tuple[str, str, Any]) -> list[tuple[int, Any]]:
    """Sends requests to a gateway in front of an archive. Returns statuses and bodies."""

    async def main() -> list[ReceivedResponse]:
        handlers = Archive().handlers()
        options = Options(lingering_seconds=0.1)
        async with gateway_to(kind, service=SHELVES, options=options, **handlers) as runner:
            client, received = await Client.to(runner), []
            for method, path, value in requests:
                body = b"" if value is None else json.dumps(value).encode()
                head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
                await client.raw(head.encode() + body)
                received.append(await client.response())
            return received

    return [(one.status, json.loads(one.body)) for one in run(main())]


EMMA = {"title": "Emma", "pages": 400}
FIRST = {"name": "volumes/1", **EMMA}


def test_resources_are_created_read_changed_and_deleted() -> None:
    changed = {**FIRST, "pages": 1}

    assert exchange(
        "real",
        ("POST", "/v1/volumes", EMMA),
        ("GET", "/v1/volumes/1", None),
        ("PUT", "/v1/volumes/1", {"title": "Emma", "pages": 1}),
        ("GET", "/v1/volumes?pageSize=1", None),
        ("DELETE", "/v1/volumes/1", None),
        ("GET", "/v1/volumes", None),
    ) == [
        (200, FIRST),
        (200, FIRST),
        (200, changed),
        (200, {"volumes": [changed]}),
        (200, {}),
        (200, {"volumes": []}),
    ]


def test_error_of_the_service_is_passed_on_with_its_details() -> None:
    ((status, body),) = exchange("real", ("GET", "/v1/volumes/9", None))

    assert body["error"].pop("requestId")
    assert (status, body["error"]) == (
        404,
        {
            "code": "VolumeLost",
            "message": "No such volume.",
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "VOLUME_LOST",
                    "domain": "archive.example.com",
                    "metadata": {"name": "volumes/9"},
                }
            ],
        },
    )


def test_message_without_details_is_passed_on_unless_grpc_can_have_sent_it() -> None:
    rejected, failed = exchange(
        "real", ("POST", "/v1/volumes", {}), ("PUT", "/v1/volumes/1", {"title": "crash"})
    )

    assert rejected[0] == 400
    assert rejected[1]["error"]["message"] == "A volume needs a title."
    assert failed[0] == 500
    assert "secret" not in str(failed[1])


def test_invalid_request_is_rejected_without_a_call() -> None:
    ((status, body),) = exchange("in-process", ("POST", "/v1/volumes", {"colour": 1}))

    assert (status, body["error"]["code"]) == (400, "ValidationError")
    assert [detail["field"] for detail in body["error"]["details"]] == ["volume.colour"]


def test_openapi_describes_only_the_service() -> None:
    described = document([SHELVES])

    components = described["components"]
    assert components.keys() == {"schemas", "responses", "parameters", "headers"}
    own = {"Volume", "ListResponse", "Empty"}
    assert set(components["schemas"]) <= own | {"VolumeInput", "VolumeOutput", "ErrorBody"}
    assert set(components["responses"]) == {"Error"}
    assert set(components["parameters"]) == {"RequestId", "Timeout"}
    for path in described["paths"].values():
        for operation in path.values():
            assert "security" not in operation
            assert operation["responses"].keys() == {"200", "default"}
    assert "roster" not in json.dumps(described).lower()
    assert "api key" not in json.dumps(described).lower()


def test_service_needs_no_validation_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    described = document([SHELVES])

    monkeypatch.setattr(fields, "Default", descriptor_pool.DescriptorPool)

    assert document([SHELVES]) == described
