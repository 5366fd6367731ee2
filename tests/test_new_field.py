"""A declared field of each kind works in every way in and out, without further changes."""

from __future__ import annotations

import csv
import io
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

import grpc
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict

from .new_field import Messages, imports_of, make_copy
from .postgres import Postgres
from .processes import Service, start

pytestmark = pytest.mark.verify

FIRST = {"phone": "+49 30 1", "score": 7.5, "renewedAt": "2026-01-02T03:04:05.000Z", "isVip": True}
SECOND = {"phone": "=1", "score": -3.0, "renewedAt": "1965-06-07T00:00:00.000Z", "isVip": False}
NONE = {"phone": "", "score": None, "renewedAt": None, "isVip": None}


class Client:
    """Calls the service over HTTP and gRPC."""

    def __init__(self, service: Service, messages: Messages) -> None:
        self._service = service
        self.messages = messages
        self._channel = grpc.insecure_channel(service.grpc)

    def http(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Returns the JSON of a response, or its text if it is not JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._service.first_key}", "Content-Type": kind}
        url = f"http://{self._service.http}{path}"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            text = urllib.request.urlopen(request, timeout=30).read().decode()
        except HTTPError as error:
            raise AssertionError(error.read().decode()) from error
        try:
            return json.loads(text)
        except ValueError:
            return text

    def import_(self, text: str, kind: str = "text/csv", **options: Any) -> list[Any]:
        """Returns the results of the rows."""
        path = f"/api/subscribers/import?{urlencode(options, doseq=True)}"
        *results, _ = self.http("POST", path, text.encode(), kind).splitlines()
        return [json.loads(result) for result in results]

    def export(self, kind: str = "NDJSON", **options: Any) -> str:
        query = urlencode({"format": kind, **options})
        return str(self.http("GET", f"/api/subscribers/export?{query}"))

    def ids(self, text: str) -> set[str]:
        """Returns the addresses of the subscribers that match a filter."""
        found = self.http("GET", f"/api/subscribers?{urlencode({'filter': text})}")
        return {each["email"] for each in found["subscribers"]}

    def rpc(self, name: str, request: Any, *, stream: bool = False) -> Any:
        """Returns the response to a call over gRPC as JSON; of a stream, those of a list."""
        method = getattr(self._channel, "stream_stream" if stream else "unary_unary")(
            f"/roster.v1.SubscriberService/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=getattr(self.messages, f"{name}Response").FromString,
        )
        message = ParseDict(request, getattr(self.messages, f"{name}Request")())
        metadata = [("authorization", f"Bearer {self._service.first_key}")]
        reply = method(iter([message]) if stream else message, metadata=metadata, timeout=30)
        if stream:
            return [MessageToDict(each) for each in reply]
        return MessageToDict(reply, always_print_fields_with_no_presence=True)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    make_copy(folder)
    return folder


@pytest.fixture(params=["sqlite", "postgres"])
def client(
    request: pytest.FixtureRequest, copy: Path, tmp_path: Path, postgres: Postgres
) -> Iterator[Client]:
    settings = {}
    if request.param == "postgres":
        url, key = postgres.new_database(), postgres.secret_key
        settings = {"ROSTER_DATABASE_URL": url, "ROSTER_SECRET_KEY": key}
    service = start(tmp_path, under=imports_of(copy), **settings)
    yield Client(service, Messages(copy))
    assert (service.stop(), service.traces()) == (0, [])


def fields_of(subscriber: Any) -> dict[str, Any]:
    """Returns the new fields, None for absent ones."""
    fields = {name: subscriber.get(name) for name in FIRST}
    # The JSON of protobuf's library has no milliseconds if they are zero.
    time = fields["renewedAt"]
    return fields | {"renewedAt": time and re.sub(r"(:\d\d)Z", r"\1.000Z", time)}


def expected(fields: dict[str, Any]) -> dict[str, Any]:
    return NONE | fields


def test_new_fields_are_created_updated_and_returned(client: Client) -> None:
    hook = {"url": "http://127.0.0.1:9/"}
    client.http("POST", "/api/webhooks", hook)
    ada = {"email": "ada@example.com", **FIRST}
    created = client.http("POST", "/api/subscribers", ada)["subscriber"]
    assert fields_of(created) == FIRST
    none = client.http("POST", "/api/subscribers", {"email": "none@example.com"})["subscriber"]
    assert fields_of(none) == NONE
    eve = client.rpc("CreateSubscriber", {"email": "eve@example.com", **SECOND})["subscriber"]
    assert fields_of(eve) == SECOND

    path = f"/api/subscribers/{created['id']}"
    assert fields_of(client.http("PATCH", path, SECOND)["subscriber"]) == SECOND
    change = {"id": created["id"], "updateMask": "score,isVip", "score": 0}
    after = client.rpc("UpdateSubscriber", change)["subscriber"]
    assert fields_of(after) == SECOND | {"score": 0, "isVip": None}
    cleared = client.http("PUT", path, dict.fromkeys(FIRST))["subscriber"]
    assert fields_of(cleared) == NONE == fields_of(client.http("GET", path)["subscriber"])
    upserted = {"phone": "1", "isVip": True}
    bob = client.http("PUT", "/api/subscribers/bob@example.com?allowMissing=true", upserted)
    assert fields_of(bob["subscriber"]) == expected(upserted)

    history = client.http("GET", f"{path}/history")["history"]
    assert [(each.get("before"), each.get("after")) for each in history][:3] == [
        ({"phone": "=1", "score": 0, "renewedAt": SECOND["renewedAt"]}, NONE_BUT_FLAG),
        ({"score": -3, "isVip": False}, {"score": 0, "isVip": None}),
        (FIRST, SECOND),
    ]
    events = client.http("GET", "/api/events?order=asc")["events"]
    states = [fields_of(each["data"]["subscriber"]) for each in events]
    assert states == [
        *(FIRST, NONE, SECOND, SECOND, SECOND | {"score": 0, "isVip": None}, NONE),
        expected(upserted),
    ]
    assert events[3]["previous"] == FIRST


NONE_BUT_FLAG = {"phone": "", "score": None, "renewedAt": None}


def test_new_fields_are_set_by_bulks_sign_ups_and_imports(client: Client) -> None:
    rows = [{"email": "a@b.io", **FIRST}, {"email": "b@b.io", **SECOND}, {"email": "c@b.io"}]
    client.http("POST", "/api/subscribers/bulk", {"subscribers": rows})
    in_rpc = [{"email": "d@b.io", **FIRST}, {"email": "e@b.io", "phone": "x" * 41}]
    failed = client.rpc("BulkCreateSubscribers", {"subscribers": in_rpc})["failed"]
    assert [each["reason"] for each in failed] == ["INVALID_FIELD"]
    client.http("POST", "/api/signup", {"email": "s@b.io", "phone": "030"})

    header = "email,Telefon,score,Renewed At,is_vip,isConfirmed\n"
    lines = (
        "f@b.io,1,7.5,2/1/2026 03:04:05,yes,\n"
        "g@b.io,,,,,\n"
        "h@b.io,,much,,,\n"
        "i@b.io,,,,sometimes,\n"
        "j@b.io,,,soon,,\n"
        "c@b.io,2,,,no,\n"
    )
    options = {"columnMap": "Telefon=phone", "dateFormat": "DMY", "onConflict": "UPDATE"}
    results = client.import_(header + lines, **options)
    assert [(each["outcome"], each.get("field")) for each in results] == [
        *(("CREATED", None), ("CREATED", None), ("FAILED", "score"), ("FAILED", "isVip")),
        *(("FAILED", "renewedAt"), ("UPDATED", None)),
    ]
    objects = [
        {"email": "k@b.io", **SECOND},
        {"email": "l@b.io", "renewedAt": "2/1/2026 03:04:05", "score": "high"},
        {"email": "m@b.io", "renewedAt": "2/1/2026 03:04:05"},
        {"email": "a@b.io", "isVip": False},
        {"email": "b@b.io", "score": 0},
    ]
    text = "\n".join(map(json.dumps, objects))
    results = client.import_(text, "application/x-ndjson", dateFormat="DMY", onConflict="UPDATE")
    outcomes = ["CREATED", "FAILED", "CREATED", "UPDATED", "UPDATED"]
    assert [each["outcome"] for each in results] == outcomes
    subscribers = [{"email": "n@b.io", **FIRST}]
    client.rpc("ImportSubscribers", {"subscribers": subscribers}, stream=True)
    options = {"filter": "score > 5 AND isVip = true AND renewedAt:*"}
    results = client.import_(
        "email,score,isVip,renewedAt\no@b.io,6,yes,2020-01-01\np@b.io,6,no,", **options
    )
    assert [each["outcome"] for each in results] == ["CREATED", "SKIPPED"]

    found = {
        each["email"][0]: fields_of(each) for each in map(json.loads, client.export().splitlines())
    }
    time = FIRST["renewedAt"]
    assert found == {
        "a": FIRST | {"isVip": False},
        "b": SECOND | {"score": 0},
        "c": expected({"phone": "2", "isVip": False}),
        "d": FIRST,
        "s": expected({"phone": "030"}),
        "f": {"phone": "1", "score": 7.5, "renewedAt": time, "isVip": True},
        "g": NONE,
        "k": SECOND,
        "m": expected({"renewedAt": time}),
        "n": FIRST,
        "o": expected({"score": 6, "isVip": True, "renewedAt": "2020-01-01T00:00:00.000Z"}),
    }


def test_new_fields_are_filtered_exported_and_imported_again(client: Client) -> None:
    rows = [{"email": "a@b.io", **FIRST}, {"email": "b@b.io", **SECOND}, {"email": "c@b.io"}]
    client.http("POST", "/api/subscribers/bulk", {"subscribers": rows})
    for text, names in {
        'phone = "+49 30 1"': "a",
        'phone = "+49*"': "a",
        "NOT phone:*": "c",
        "score >= 7.5": "a",
        "score < 0": "b",
        "score:*": "ab",
        "score != 7.5": "bc",
        "isVip = true": "a",
        "is_vip = false": "b",
        "NOT isVip:*": "c",
        'renewedAt > "2025-12-31T00:00:00Z"': "a",
        "renewedAt:* AND status = UNCONFIRMED": "ab",
        'isVip = true OR (score < 0 AND phone:"=*")': "ab",
    }.items():
        assert client.ids(text) == {f"{name}@b.io" for name in names}, text
    template = {"subscriberId": "a@b.io", "subject": "{{phone}}", "body": "{{score}} {{isVip}}"}
    rendered = client.http("POST", "/api/merge-tags/render", template)
    assert (rendered["subject"], rendered["body"]) == ("+49 30 1", "7.5 true")

    for kind, media_type in (("CSV", "text/csv"), ("NDJSON", "application/x-ndjson")):
        written = client.export(kind)
        for name in "abc":
            client.http("DELETE", f"/api/subscribers/{name}@b.io")
        results = client.import_(written, media_type)
        assert [each["outcome"] for each in results] == ["CREATED"] * 3
        states = [fields_of(each) for each in map(json.loads, client.export().splitlines())]
        assert states == [FIRST, SECOND, NONE]
    table = [*csv.DictReader(io.StringIO(client.export("CSV")))]
    assert [[row[name] for name in FIRST] for row in table] == [
        ["'+49 30 1", "7.5", FIRST["renewedAt"], "true"],
        ["'=1", "-3", SECOND["renewedAt"], "false"],
        ["", "", "", ""],
    ]
