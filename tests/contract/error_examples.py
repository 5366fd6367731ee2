"""Writes `http_gateway/openapi/errors.json`: the errors that a running service sends.

    python -m tests.contract.error_examples

Each error that an operation documents is provoked, and its message and details are recorded. What
cannot be provoked in a moment is taken from the code that sends it. A test compares the file with
what a service sends.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import orjson
from google.protobuf.descriptor import MethodDescriptor

from http_gateway import body
from http_gateway.errors import error_code_of
from http_gateway.openapi.document import document
from http_gateway.openapi.reasons import reasons_of
from http_gateway.options import Options
from http_gateway.request_errors import RequestError
from http_gateway.responses import JSON
from http_gateway.streams import client_stream
from server import errors
from server.app import SERVICES
from server.webhooks.delivery.store_test_deliveries import RETRY_AFTER_SECONDS

from ..behavior.helpers import create_field, create_subscriber, create_subscriber_in, suppress
from ..conftest import Account, new_account
from ..fronts import METHODS, HttpFront, Response, binding
from ..processes import Service, start

FILE = Path(__file__).parents[2] / "http_gateway/openapi/errors.json"
# What the examples name, and what is not there.
MISSING = "01M7Y2MPAQ036JVMBN3RCKGA5K"
NOBODY = "nobody@example.com"
# An idempotency key that came with a request already.
USED_KEY = "used"
LONG_AGO = 1
# For what is about something that is there: a webhook that nothing is sent to.
SILENT = {"url": "http://127.0.0.1:9/", "enabled": False}
# What cannot be provoked in a moment: it takes time, load, or a fault of the service.
UNPROVOKED: dict[str, errors.RosterError | RequestError] = {
    "REQUEST_TIMEOUT": body.timeout_error(Options().body_seconds),
    "IDEMPOTENCY_KEY_IN_USE": errors.IdempotencyKeyInUse(),
    "RATE_LIMITED": errors.RateLimited(1),
    "INTERNAL": errors.Internal(),
    "UNAVAILABLE": errors.Unavailable(),
    "DEADLINE_EXCEEDED": errors.DeadlineExceeded(),
    "ImportSubscribers REQUEST_TIMEOUT": client_stream.timeout_error(Options().stream_idle_seconds),
    "TestWebhook RATE_LIMITED": errors.TooManyTestDeliveries(RETRY_AFTER_SECONDS),
    "ReplayWebhook WEBHOOK_LIMIT_REACHED": errors.ReplayLimitReached(),
}

Example = dict[str, Any]


class Operation(NamedTuple):
    """An operation: its rpc, and a request that is valid but for what it is about."""

    rpc: str
    method: str
    target: str
    media_type: str
    body: bytes | None
    required: bool

    @property
    def reasons(self) -> list[str]:
        """The reasons for which it can be refused."""
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
        """Sends the request with something else in it."""
        sent = {"Content-Type": self.media_type} if self.body is not None else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        front, given = account.front, self.body if body is None else body
        assert isinstance(front, HttpFront)
        return front.send(self.method, self.target + query, key, body=given, headers=sent)


def operations() -> Iterator[Operation]:
    """Yields the first operation of each rpc."""
    described = document(SERVICES)
    schemas = described["components"]["schemas"]
    for rpc, method in METHODS.items():
        verb, path, _ = binding(rpc)
        operation = next(
            each
            for item in described["paths"].values()
            for each in item.values()
            if each["operationId"] == rpc
        )
        content = operation.get("requestBody", {}).get("content", {})
        media_type, first = next(iter(content.items()), ("", {}))
        example = first.get("example")
        text = example if isinstance(example, str) else json.dumps(example)
        schema = schemas.get(first.get("schema", {}).get("$ref", "").rpartition("/")[2], {})
        yield Operation(
            rpc=rpc,
            method=verb,
            target=_filled(method, path),
            media_type=media_type,
            body=text.encode() if content else None,
            required=media_type == JSON and "required" in schema,
        )


def _filled(method: MethodDescriptor, path: str) -> str:
    for variable in method.input_type.fields:
        value = NOBODY if variable.name == "email" else MISSING
        path = path.replace(f"{{{variable.json_name}}}", value)
    return path


@dataclass(frozen=True)
class Recorder:
    """Provokes errors on a service. `fresh` makes an account in which nothing is."""

    fresh: Callable[[], Account]
    account: Account
    unverified: Account
    read_key: str

    def error(self, operation: Operation, reason: str) -> Example:
        """Returns the error that an operation sends for a reason."""
        unprovoked = UNPROVOKED.get(f"{operation.rpc} {reason}") or UNPROVOKED.get(reason)
        if unprovoked is not None:
            return _of(unprovoked)
        if reason in CONFLICTS:
            answer = CONFLICTS[reason](self.fresh(), operation.rpc)
        else:
            answer = self._refused(operation, reason)
        assert (answer.status >= 400, answer.code) == (True, error_code_of(reason)), (
            operation.rpc,
            answer,
        )
        error = answer.body["error"]
        return {"message": error["message"], "details": error["details"]}

    def _refused(self, operation: Operation, reason: str) -> Response:
        """Sends a request that is refused for a reason whatever is in the account."""
        send, account = operation.send, self.account
        match reason:
            case "UNAUTHORIZED":
                return send(account, None)
            case "FORBIDDEN":
                return send(account, self.read_key)
            case "EMAIL_NOT_VERIFIED":
                return send(self.unverified, self.unverified.key)
            case "PAYLOAD_TOO_LARGE":
                return send(account, account.key, body=b"x" * (body.MAX_BODY_BYTES + 1))
            case "UNSUPPORTED_MEDIA_TYPE":
                return send(account, account.key, body=b"x", Content_Type="text/plain")
            case "IDEMPOTENCY_KEY_REUSED":
                return send(account, account.key, Idempotency_Key=USED_KEY)
            case "VALIDATION_ERROR" if operation.required:
                return send(account, account.key, body=b"{}")
            case "VALIDATION_ERROR":
                return send(account, account.key, query="?color=green")
        assert reason.endswith("_NOT_FOUND"), reason
        named = f"{operation.target}{operation.body!r}"
        is_named = MISSING in named or NOBODY in named
        return send(account, account.key, query="" if is_named else f"?webhookId={MISSING}")


def recorded(service: Service) -> bytes:
    """Returns what the file has to hold, by what a service sends."""
    front = HttpFront("http", service.http)

    def fresh() -> Account:
        return new_account(service, front)

    account, unverified = fresh(), new_account(service, front, verified=False)
    headers = {"Idempotency-Key": USED_KEY}
    front.send("POST", "/api/tags", account.key, body=b'{"name": "used"}', headers=headers)
    recorder = Recorder(fresh, account, unverified, account.new_key("read"))
    return _written(
        {
            METHODS[each.rpc].full_name: {
                reason: recorder.error(each, reason) for reason in each.reasons
            }
            for each in operations()
        }
    )


def _of(failure: errors.RosterError | RequestError) -> Example:
    if isinstance(failure, RequestError):
        return {"message": failure.error.message, "details": []}
    details = [
        {"field": each.field, "code": each.code, "message": each.message}
        for each in failure.details
    ]
    return {"message": failure.message, "details": details}


def _taken(what: str, value: str) -> Callable[[Account, str], Any]:
    """Returns what gives something a name that something else has."""

    def conflict(account: Account, rpc: str) -> Any:
        thing = rpc.removeprefix("Create").removeprefix("Update")
        if rpc.startswith("Create"):
            account.ok(rpc, **{what: value})
            return account.call(rpc, **{what: value})
        account.ok(f"Create{thing}", **{what: value})
        other = account.ok(f"Create{thing}", **{what: f"other.{value}"})
        (made,) = other.values()
        return account.call(rpc, id=made["id"], **{what: value})

    return conflict


def _suppressed(account: Account, rpc: str) -> Any:
    email = suppress(account)
    if rpc == "CreateSubscriber":
        return account.call(rpc, email=email)
    other = create_subscriber(account, "other@example.com")
    return account.call(rpc, id=other["id"], email=email)


def _transition(account: Account, rpc: str) -> Any:
    person = create_subscriber_in(account, "UNSUBSCRIBED")
    return account.call(rpc, id=person["id"], status="BOUNCED")


def _fields(account: Account, rpc: str) -> Any:
    for number in range(100):
        create_field(account, f"Field {number}")
    return account.call(rpc, label="More")


def _webhooks(account: Account, rpc: str) -> Any:
    for _ in range(20):
        account.ok("CreateWebhook", **SILENT)
    return account.call(rpc, **SILENT)


def _expired(account: Account, rpc: str) -> Any:
    account.new_key("read", expires_at=LONG_AGO)
    keys = account.ok("ListApiKeys")["apiKeys"]
    return account.call(rpc, id=next(key["id"] for key in keys if key["scope"] == "read"))


def _last_key(account: Account, rpc: str) -> Any:
    (key,) = account.ok("ListApiKeys")["apiKeys"]
    return account.call(rpc, id=key["id"])


# What needs something that is there already, in an account of its own.
CONFLICTS: dict[str, Callable[[Account, str], Any]] = {
    "SUBSCRIBER_ALREADY_EXISTS": _taken("email", "ada@example.com"),
    "SUBSCRIBER_SUPPRESSED": _suppressed,
    "TAG_ALREADY_EXISTS": _taken("name", "vip"),
    "CUSTOM_FIELD_ALREADY_EXISTS": _taken("label", "Plan"),
    "CUSTOM_FIELD_LIMIT_REACHED": _fields,
    "INVALID_STATUS_TRANSITION": _transition,
    "WEBHOOK_LIMIT_REACHED": _webhooks,
    "API_KEY_EXPIRED": _expired,
    "LAST_ADMIN_KEY": _last_key,
}


def _written(found: dict[str, dict[str, Example]]) -> bytes:
    """Returns the file: what most rpcs send for a reason, and what others send."""
    texts: dict[str, Counter[bytes]] = {}
    for examples in found.values():
        for reason, example in examples.items():
            texts.setdefault(reason, Counter())[orjson.dumps(example)] += 1
    common = {reason: orjson.loads(counts.most_common(1)[0][0]) for reason, counts in texts.items()}
    own = {
        rpc: {reason: example for reason, example in examples.items() if example != common[reason]}
        for rpc, examples in found.items()
    }
    content = {"by_reason": common, "by_rpc": {rpc: each for rpc, each in own.items() if each}}
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
