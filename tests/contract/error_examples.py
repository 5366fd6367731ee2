"""Writes `server/serving/examples/errors.json`: the errors that a running service returns.

    python -m tests.contract.error_examples

It triggers each documented error of each operation, and records the message and details. Errors
that cannot be triggered quickly are copied from the code that raises them. A test compares the file
with the errors of a service.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlencode

import orjson
from google.protobuf.descriptor import MethodDescriptor

from roster.v1 import errors_pb2
from rosterd.http_gateway import body
from rosterd.http_gateway.options import Options
from rosterd.http_gateway.request_errors import RequestError, error_code_of
from rosterd.http_gateway.responses import JSON
from rosterd.http_gateway.streams import client_stream
from rosterd.server.features.exports.store import MAX_EXPORTS
from rosterd.server.features.imports.jobs.rules import ACTIVE, MAX_OPEN, State
from rosterd.server.features.operations.rules import MAX_RUNNING, UNDO_MILLISECONDS
from rosterd.server.features.segments.store import MAX_SEGMENTS
from rosterd.server.features.sessions.rules import MAX_LINKS
from rosterd.server.features.webhooks.delivery.store_test_deliveries import RETRY_AFTER_SECONDS
from rosterd.server.features.webhooks.rules import MAX_IN_FLIGHT_PER_ENDPOINT
from rosterd.server.rpc import errors
from rosterd.server.rpc.interceptors.concurrency_limit import MAX_STREAMS_OF_ACCOUNT
from rosterd.server.serving.gateway_policy import reasons_of

from ..behavior.helpers import (
    confirm_token,
    create_field,
    create_subscriber,
    create_subscriber_in,
    suppress,
)
from ..behavior.import_jobs import run_file, upload
from ..behavior.requests import REQUESTS, working_request
from ..conftest import Account, new_account
from ..documented import openapi
from ..fronts import METHODS, HttpFront, Response, binding
from ..processes import Service, start

FILE = Path(__file__).parents[2] / "server/serving/examples/errors.json"
# An ID and an email of no resource. The ID also replaces those in messages.
ID = re.compile("[0-7][0-9A-HJKMNP-TV-Z]{25}")
MISSING = "01M7Y2MPAQ036JVMBN3RCKGA5K"
MISSING_EMAIL = "missing@example.com"
# Idempotency keys: one that another request used, and one of a person who was erased.
USED_KEY, ERASED_KEY = "used", "erased"
LONG_AGO = 1
# The media type of the pages' bodies. They accept any other one too.
FORM = "application/x-www-form-urlencoded"
DISABLED_WEBHOOK = {"url": "http://127.0.0.1:9/", "enabled": False}
# Errors that need time, load, many resources or a fault of the service.
NOT_TRIGGERED: dict[str, errors.RosterError | RequestError] = {
    "REQUEST_TIMEOUT": body.timeout_error(Options().body_seconds),
    "OPERATION_LIMIT_REACHED": errors.OperationLimitReached(MAX_RUNNING),
    "OPERATION_NOT_ENDED": errors.OperationNotEnded(),
    "UNDO_EXPIRED": errors.UndoExpired(hours=UNDO_MILLISECONDS // 3_600_000),
    "EXPORT_NOT_READY": errors.ExportNotReady(),
    "DownloadExport PRECONDITION_FAILED": errors.PreconditionFailed(),
    "RANGE_NOT_SATISFIABLE": errors.RangeNotSatisfiable(size=204_800),
    "IMPORT_LIMIT_REACHED": errors.ImportLimitReached(MAX_OPEN),
    "DeleteImport IMPORT_STATE_CONFLICT": errors.ImportStateConflict(
        state="RUNNING", needed=" or ".join(s.name for s in State if s not in ACTIVE)
    ),
    "INSUFFICIENT_STORAGE": errors.InsufficientStorage(),
    "PUBLIC_URL_NOT_SET": errors.PublicUrlNotSet(),
    "IDEMPOTENCY_KEY_IN_USE": errors.IdempotencyKeyInUse(),
    "SEGMENT_LIMIT_REACHED": errors.SegmentLimitReached(MAX_SEGMENTS),
    "SIGN_IN_LINK_LIMIT_REACHED": errors.SignInLinkLimitReached(MAX_LINKS),
    "RATE_LIMITED": errors.RateLimited(1),
    "INTERNAL": errors.Internal(),
    "UNAVAILABLE": errors.Unavailable(),
    "DEADLINE_EXCEEDED": errors.DeadlineExceeded(),
    "ImportSubscribers REQUEST_TIMEOUT": client_stream.timeout_error(Options().stream_idle_seconds),
    "TEST_DELIVERY_LIMIT_REACHED": errors.TestDeliveryLimitReached(
        RETRY_AFTER_SECONDS, limit=MAX_IN_FLIGHT_PER_ENDPOINT
    ),
    "STREAM_LIMIT_REACHED": errors.StreamLimitReached(1, limit=MAX_STREAMS_OF_ACCOUNT),
    "CPU_SHARE_EXCEEDED": errors.CpuShareExceeded(1),
    "TOO_MANY_INVALID_KEYS": errors.TooManyInvalidKeys(1),
    "TOO_MANY_INVALID_LINKS": errors.TooManyInvalidLinks(1, b""),
    "TOO_MANY_SIGNUPS": errors.TooManySignups(1),
    "CUSTOM_FIELD_BEING_DELETED": errors.CustomFieldBeingDeleted(),
    "RESPONSE_NOT_READ": client_stream.unread_error(Options().write_seconds, 1),
    # Over HTTP it is an HTML page.
    **{
        f"{rpc} LINK_NOT_FOUND": errors.LinkNotFound()
        for rpc, method in METHODS.items()
        if method.containing_service.name == "LinkPageService"
    },
}

Example = dict[str, Any]


class Operation(NamedTuple):
    """An operation, and a valid request for a missing resource."""

    rpc: str
    method: str
    target: str
    media_type: str
    body: bytes | None
    required: bool

    @property
    def reasons(self) -> list[str]:
        """The reasons of its documented errors."""
        return reasons_of(METHODS[self.rpc])

    def send(
        self,
        account: Account,
        key: str | None,
        *,
        query: str = "",
        body: bytes | None = None,
        **headers: str,
    ) -> Response:
        """Sends the request with changes."""
        all_headers = {"Content-Type": self.media_type} if self.body is not None else {}
        if self.rpc == "SignIn":
            all_headers["Sec-Fetch-Site"] = "same-origin"
        all_headers |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = self.body if body is None else body
        assert isinstance(account.front, HttpFront)
        target = self.target + query
        return account.front.send(self.method, target, key, body=content, headers=all_headers)


def operations() -> Iterator[Operation]:
    """Yields the first operation of each rpc."""
    document = openapi()
    schemas = document["components"]["schemas"]
    for rpc, method in METHODS.items():
        verb, path, _ = binding(rpc)
        operation = next(
            operation
            for item in document["paths"].values()
            for operation in item.values()
            if operation["operationId"] == rpc
        )
        content = operation.get("requestBody", {}).get("content", {})
        none: tuple[str, dict[str, Any]] = ("", {})
        media_type, first = next(iter(content.items()), none)
        example = first.get("example")
        text = example if isinstance(example, str) else json.dumps(example)
        schema = schemas.get(first.get("schema", {}).get("$ref", "").rpartition("/")[2], {})
        yield Operation(
            rpc=rpc,
            method=verb,
            target=_fill_path(method, path),
            media_type=media_type,
            body=text.encode() if content else None,
            required=media_type == JSON and "required" in schema,
        )


def _fill_path(method: MethodDescriptor, path: str) -> str:
    for variable in method.input_type.fields:
        path = path.replace(f"{{{variable.json_name}}}", MISSING)
    return path


@dataclass(frozen=True)
class Recorder:
    """Triggers errors on a service. `create_account` returns a new, empty account."""

    create_account: Callable[[], Account]
    account: Account
    unverified: Account
    read_key: str
    signup_key: str

    def error(self, operation: Operation, reason: str) -> Example:
        """Returns the error that the operation returns for a reason."""
        not_triggered = _not_triggered(operation.rpc, reason)
        if not_triggered is not None:
            return _example_of(not_triggered)
        if reason in CONFLICTS:
            response = CONFLICTS[reason](self.create_account(), operation.rpc)
        else:
            response = self._rejected(operation, reason)
        expected = (status_of(reason), error_code_of(reason))
        assert (response.status, response.code) == expected, (operation.rpc, response)
        error = response.body["error"]
        for detail in error["details"]:
            detail["message"] = ID.sub(MISSING, detail["message"])
        return {"message": ID.sub(MISSING, error["message"]), "details": error["details"]}

    def _rejected(self, operation: Operation, reason: str) -> Response:
        """Sends a request that is rejected with a reason in every account."""
        send, account = operation.send, self.account
        match reason:
            case "UNAUTHORIZED":
                return send(account, None)
            case "FORBIDDEN" if operation.rpc == "SignIn":
                return send(account, None, body=json.dumps({"token": self.signup_key}).encode())
            case "CROSS_ORIGIN_REQUEST":
                cookie = f"roster-{account.service.http.rpartition(':')[2]}=x"
                return send(account, None, Sec_Fetch_Site="cross-site", Cookie=cookie)
            case "HTTPS_REQUIRED":
                return send(account, None, Host="news.example.com")
            case "FORBIDDEN":
                return send(
                    account, self.read_key if operation.rpc == "SignUp" else self.signup_key
                )
            case "API_KEY_SCOPE_TOO_BROAD":
                form = urlencode({"key": account.key, "email": MISSING_EMAIL}).encode()
                return send(account, None, body=form, Content_Type=FORM)
            case "EMAIL_NOT_VERIFIED" if operation.rpc == "ImportSubscribers":
                return _import_with_a_new_field(self.unverified)
            case "EMAIL_NOT_VERIFIED" if operation.rpc == "StartImport":
                return _start_import(self.unverified, unknownColumns="CREATE_FIELDS")
            case "EMAIL_NOT_VERIFIED":
                return send(self.unverified, self.unverified.key)
            case "PAYLOAD_TOO_LARGE":
                return send(account, account.key, body=b"x" * (body.MAX_BODY_BYTES + 1))
            case "UNSUPPORTED_MEDIA_TYPE" if operation.media_type == FORM:
                return send(account, None, body=b"x", Content_Encoding="gzip")
            case "UNSUPPORTED_MEDIA_TYPE" if operation.rpc == "UploadImportPart":
                return send(account, account.key, body=b"x", Content_Encoding="gzip")
            case "UNSUPPORTED_MEDIA_TYPE":
                return send(account, account.key, body=b"x", Content_Type="text/plain")
            case "IDEMPOTENCY_KEY_REUSED":
                return send(account, account.key, Idempotency_Key=USED_KEY)
            case "IDEMPOTENT_RESPONSE_ERASED":
                return send(account, account.key, Idempotency_Key=ERASED_KEY)
            case "VALIDATION_ERROR" if operation.rpc.endswith("Page"):
                return send(account, None, If_Match="x")
            case "VALIDATION_ERROR" if operation.required:
                return send(account, account.key, body=b"{}")
            case "VALIDATION_ERROR":
                return send(account, account.key, query="?color=green")
            case "SEGMENT_NOT_FOUND" if operation.rpc == "StartImport":
                return _start_import(account, segmentId=MISSING)
        assert reason.endswith("_NOT_FOUND"), reason
        text = f"{operation.target}{operation.body!r}"
        # The subscribers of examples do not exist either.
        is_about_missing = (
            MISSING in text
            or MISSING_EMAIL in text
            or reason in ("SUBSCRIBER_NOT_FOUND", "SESSION_NOT_FOUND")
        )
        if reason == "SEGMENT_NOT_FOUND" and operation.rpc == "BatchChangeSubscribers":
            batch = {"segmentId": MISSING, "action": {"delete": True}}
            return send(account, account.key, body=json.dumps(batch).encode())
        if reason == "SEGMENT_NOT_FOUND" and operation.rpc == "CreateExport":
            return send(account, account.key, body=json.dumps({"segmentId": MISSING}).encode())
        if reason == "SUBSCRIBER_NOT_FOUND" and operation.rpc == "ListAllWebhookDeliveries":
            return send(account, account.key, query=f"?subscriberId={MISSING_EMAIL}")
        names = {"SEGMENT_NOT_FOUND": "segmentId", "WEBHOOK_NOT_FOUND": "webhookId"}
        plural = "s" if operation.rpc == "GetStatistics" else ""
        query = "" if is_about_missing else f"?{names[reason]}{plural}={MISSING}"
        return send(account, account.key, query=query)


def recorded(service: Service) -> bytes:
    """Returns the content of the file for the errors of a service."""
    front = HttpFront("http", service.http)

    def create_account() -> Account:
        return new_account(service, front)

    account, unverified = create_account(), new_account(service, front, verified=False)
    headers = {"Idempotency-Key": USED_KEY}
    front.send("POST", "/api/tags", account.key, body=b'{"name": "used"}', headers=headers)
    headers, email = {"Idempotency-Key": ERASED_KEY}, "erased@example.com"
    body = json.dumps({"email": email}).encode()
    front.send("POST", "/api/subscribers", account.key, body=body, headers=headers)
    account.ok("DeleteSubscriber", id=email, erase=True)
    keys = account.new_key("read"), account.new_key("signup")
    recorder = Recorder(create_account, account, unverified, *keys)
    return _serialized(
        {
            METHODS[operation.rpc].full_name: {
                reason: recorder.error(operation, reason) for reason in operation.reasons
            }
            for operation in operations()
        }
    )


def triggers(rpc: str, reason: str) -> bool:
    """Whether the example of a reason is the response of a service."""
    return _not_triggered(rpc, reason) is None


def _not_triggered(rpc: str, reason: str) -> errors.RosterError | RequestError | None:
    return NOT_TRIGGERED.get(f"{rpc} {reason}") or NOT_TRIGGERED.get(reason)


def status_of(reason: str) -> int:
    """Returns the HTTP status of an error."""
    value = errors_pb2.Error.Reason.DESCRIPTOR.values_by_name[reason]
    status: int = value.GetOptions().Extensions[errors_pb2.error_mapping].http
    return status


def _example_of(failure: errors.RosterError | RequestError) -> Example:
    if isinstance(failure, RequestError):
        return {"message": failure.error.message, "details": []}
    details = [
        {"field": detail.field, "code": detail.code, "message": detail.message}
        for detail in failure.details
    ]
    return {"message": failure.message, "details": details}


def _duplicate(field: str, value: str, **others: str) -> Callable[[Account, str], Any]:
    """Returns a function that creates or updates a resource with a value that another one uses."""

    def conflict(account: Account, rpc: str) -> Any:
        resource = rpc.removeprefix("Create").removeprefix("Update")
        if rpc.startswith("Create"):
            account.ok(rpc, **{field: value}, **others)
            return account.call(rpc, **{field: value}, **others)
        account.ok(f"Create{resource}", **{field: value}, **others)
        other = account.ok(f"Create{resource}", **{field: f"other.{value}"}, **others)
        (created,) = other.values()
        return account.call(rpc, id=created["id"], **{field: value})

    return conflict


def _suppressed(account: Account, rpc: str) -> Any:
    if rpc == "ChangeSubscriberStatus":
        person = create_subscriber_in(account, "UNSUBSCRIBED")
        account.ok("AddSuppressions", emails=[person["email"]])
        return account.call(rpc, id=person["id"], status="CONFIRMED")
    if rpc == "FollowLink":
        person = create_subscriber_in(account, "UNSUBSCRIBED")
        account.ok("AddSuppressions", emails=[person["email"]])
        return account.call(rpc, token=confirm_token(account, person["id"]))
    email = suppress(account)
    if rpc == "CreateSubscriber":
        return account.call(rpc, email=email)
    other = create_subscriber(account, "other@example.com")
    return account.call(rpc, id=other["id"], email=email)


def _transition(account: Account, rpc: str) -> Any:
    if rpc == "FollowLink":
        person = create_subscriber_in(account, "COMPLAINED")
        return account.call(rpc, token=confirm_token(account, person["id"]))
    person = create_subscriber_in(account, "UNSUBSCRIBED")
    return account.call(rpc, id=person["id"], status="BOUNCED")


def _fields(account: Account, rpc: str) -> Any:
    for number in range(100):
        create_field(account, f"Field {number}")
    if rpc == "ImportSubscribers":
        return _import_with_a_new_field(account)
    return account.call(rpc, label="More")


def _import_with_a_new_field(account: Account) -> Response:
    """Imports a file with an unknown column, which becomes a custom field."""
    return _import(account, "unknownColumns=CREATE_FIELDS")


def _import(account: Account, query: str) -> Response:
    assert isinstance(account.front, HttpFront)
    return account.front.send(
        "POST",
        f"/api/subscribers/import?{query}",
        account.key,
        body=b"email,More\n",
        headers={"Content-Type": "text/csv"},
    )


def _start_import(account: Account, **options: Any) -> Response:
    job = upload(account, b"email\nada@example.com\n", options=options)
    return account.call("StartImport", id=job["id"])


def _canceled_import(account: Account, rpc: str) -> Any:
    job = account.ok("CreateImport", **REQUESTS["CreateImport"])["import"]
    account.ok("CancelImport", id=job["id"])
    return account.call(rpc, id=job["id"], **REQUESTS.get(rpc, {}))


def _in_wrong_state(account: Account, rpc: str) -> Any:
    if rpc != "UndoImport":
        return _canceled_import(account, rpc)
    job = account.ok("CreateImport", **REQUESTS["CreateImport"])["import"]
    return account.call(rpc, id=job["id"])


def _gap(account: Account, rpc: str) -> Any:
    job = account.ok("CreateImport", **REQUESTS["CreateImport"])["import"]
    return account.call(rpc, id=job["id"], offset=5, **REQUESTS[rpc])


def _webhooks(account: Account, rpc: str) -> Any:
    for _ in range(20):
        account.ok("CreateWebhook", **DISABLED_WEBHOOK)
    return account.call(rpc, **DISABLED_WEBHOOK)


def _exports(account: Account, rpc: str) -> Any:
    for _ in range(MAX_EXPORTS):
        account.ok("CreateExport")
    return account.call(rpc)


def _expired(account: Account, rpc: str) -> Any:
    account.new_key("read", expires_at=LONG_AGO)
    keys = account.ok("ListApiKeys")["apiKeys"]
    return account.call(rpc, id=next(key["id"] for key in keys if key["scope"] == "read"))


def _last_key(account: Account, rpc: str) -> Any:
    (key,) = account.ok("ListApiKeys")["apiKeys"]
    return account.call(rpc, id=key["id"])


def _without_filter(account: Account, rpc: str) -> Any:
    segment = account.ok("CreateSegment", name="VIPs", filter="tags:vip")["segment"]["id"]
    tag = account.ok("CreateTag", name="vip")["tag"]["id"]
    account.call("DeleteTag", id=tag, force=True)
    if rpc == "GetStatistics":
        return account.call(rpc, segmentIds=[segment])
    if rpc == "ImportSubscribers":
        return _import(account, f"segmentId={segment}")
    if rpc == "StartImport":
        return _start_import(account, segmentId=segment)
    action = {"action": {"delete": True}} if rpc == "BatchChangeSubscribers" else {}
    return account.call(rpc, segmentId=segment, **action)


def _used(account: Account, rpc: str) -> Any:
    if rpc == "DeleteTag":
        account.ok("CreateSegment", name="VIPs", filter="tags:vip")
        return account.call(rpc, id=account.ok("CreateTag", name="vip")["tag"]["id"])
    field = create_field(account, "Plan")
    account.ok("CreateSegment", name="Pro", filter="customFields.plan = pro")
    change = {"dataType": "NUMBER"} if rpc == "UpdateCustomField" else {}
    return account.call(rpc, id=field["id"], **change)


def _not_convertible(account: Account, rpc: str) -> Any:
    field = create_field(account, "Score")
    for number, value in enumerate(("42", "unknown", "042")):
        create_subscriber(account, f"p{number}@example.com", customFields={"score": value})
    return account.call(rpc, id=field["id"], dataType="NUMBER")


def _changed(account: Account, rpc: str) -> Any:
    return account.call(rpc, **working_request(account, rpc), etag='"5b1f0c3a9e27d486"')


def _other_selection(account: Account, rpc: str) -> Any:
    return account.call(rpc, filter="email:*", action={"delete": True}, expectedTotal=1200)


def _not_undoable(account: Account, rpc: str) -> Any:
    if rpc == "UndoImport":
        return _canceled_import(account, rpc)
    request = {"filter": "email:*", "action": {"delete": True}}
    return account.call(rpc, id=account.ok("BatchChangeSubscribers", **request)["operation"]["id"])


def _undone(account: Account, rpc: str) -> Any:
    if rpc == "UndoImport":
        job = run_file(account, "email\nada@example.com\n")
        account.ok(rpc, id=job["id"])
        return account.call(rpc, id=job["id"])
    tag = {"filter": "email:*", "action": {"addTags": ["vip"]}}
    operation = account.ok("BatchChangeSubscribers", **tag)["operation"]
    while not operation["done"]:
        operation = account.ok("GetOperation", id=operation["id"])["operation"]
    account.ok("UndoOperation", id=operation["id"])
    return account.call(rpc, id=operation["id"])


# Errors that need existing resources, each in a new account.
CONFLICTS: dict[str, Callable[[Account, str], Any]] = {
    "SUBSCRIBER_ALREADY_EXISTS": _duplicate("email", "ada@example.com"),
    "SUBSCRIBER_SUPPRESSED": _suppressed,
    "SEGMENT_ALREADY_EXISTS": _duplicate("name", "VIPs", filter="tags:vip"),
    "SEGMENT_WITHOUT_FILTER": _without_filter,
    "USED_BY_SEGMENTS": _used,
    "SELECTION_CHANGED": _other_selection,
    "OPERATION_NOT_UNDOABLE": _not_undoable,
    "OPERATION_ALREADY_UNDONE": _undone,
    "TAG_ALREADY_EXISTS": _duplicate("name", "vip"),
    "CUSTOM_FIELD_ALREADY_EXISTS": _duplicate("label", "Plan"),
    "CUSTOM_FIELD_LIMIT_REACHED": _fields,
    "VALUES_NOT_CONVERTIBLE": _not_convertible,
    "INVALID_STATUS_TRANSITION": _transition,
    "IMPORT_STATE_CONFLICT": _in_wrong_state,
    "UPLOAD_OFFSET_MISMATCH": _gap,
    "WEBHOOK_LIMIT_REACHED": _webhooks,
    "API_KEY_EXPIRED": _expired,
    "EXPORT_LIMIT_REACHED": _exports,
    "LAST_ADMIN_KEY": _last_key,
    "PRECONDITION_FAILED": _changed,
}


def _serialized(by_rpc: dict[str, dict[str, Example]]) -> bytes:
    """Returns the file content: the most frequent example of each reason, and the examples of rpcs
    that differ from it.
    """
    counters: dict[str, Counter[bytes]] = {}
    for examples in by_rpc.values():
        for reason, example in examples.items():
            counters.setdefault(reason, Counter())[orjson.dumps(example)] += 1
    common = {
        reason: orjson.loads(counter.most_common(1)[0][0]) for reason, counter in counters.items()
    }
    different = {
        rpc: {reason: example for reason, example in examples.items() if example != common[reason]}
        for rpc, examples in by_rpc.items()
    }
    content = {
        "by_reason": common,
        "by_rpc": {rpc: examples for rpc, examples in different.items() if examples},
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def main() -> None:
    with TemporaryDirectory() as folder:
        service = start(Path(folder))
        try:
            FILE.write_bytes(recorded(service))
        finally:
            service.stop()


if __name__ == "__main__":
    main()
