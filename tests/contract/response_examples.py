"""Writes `server/serving/examples/responses.json`: the responses to the samples of the reference.

    python -m tests.contract.response_examples

It sends the request of each sample to a running service, and records the body of the response
for each media type. What differs between runs is replaced by the examples in the protos, such as
IDs, times and secrets. A test compares the file with the responses of a service.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from rosterd.http_gateway.docs.document import Document
from rosterd.http_gateway.docs.grpc_calls import methods_of
from rosterd.http_gateway.docs.operations import Operation, resources_of
from rosterd.http_gateway.openapi.bodies import HTML
from rosterd.http_gateway.responses import JSON
from rosterd.http_gateway.streams.server_sent_events import CONTENT_TYPE as EVENT_STREAM
from rosterd.server.app import SERVICES

from ..behavior.helpers import confirm_token, unsubscribe_token
from ..behavior.import_jobs import create, run, upload
from ..conftest import Account, new_account
from ..features.webhooks.receiver import listening
from ..fronts import METHODS, HttpFront
from ..http_gateway.docs.html import DOCUMENT, DOCUMENTATION
from ..processes import Service, start

FILE = Path(__file__).parents[2] / "server/serving/examples/responses.json"
# The examples in the protos: IDs, tokens of links, and an address of a suppression.
IDS = [f"01M7Y2MPAQ036JVMBN3RCKGA5{last}" for last in "KJHGFEDCBA987654"]
UNSUBSCRIBE_TOKEN, CONFIRM_TOKEN = "EhQ3fJ9tVb6rKzP1wMxC7yNs", "Ed4YkG7vLq2mWnR8sXbT5cZp"
SIGN_IN_URL = f"https://news.example.com/console/signin#{IDS[0]}{'0' * 43}"
GONE = "gone@example.com"
UNREACHABLE = "http://127.0.0.1:9/"
NOW = datetime(2026, 11, 21, 3, 33, 16, 247000, UTC)
# Operations that create what the others use. They are called in an empty account.
CREATIONS = (
    *("CreateSubscriber", "CreateTag", "CreateSegment", "CreateCustomField", "CreateWebhook"),
    *("BulkCreateSubscribers", "ImportSubscribers", "AddSuppressions", "ImportSuppressions"),
    *("CreateApiKey", "CreateSignInLink", "CreateImport", "SignUp"),
)
OPERATIONS = {
    operation.anchor: operation
    for resource in resources_of(Document(DOCUMENT), methods_of(SERVICES), DOCUMENTATION)
    for operation in resource.operations
}

_ID = re.compile("(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_DAY = re.compile(r'(?<="date":")\d{4}-\d\d-\d\d')
_REPLACED = (
    (re.compile(r"\brk_\w+"), f"rk_{'0' * 46}"),
    (re.compile(r"http://[\d.:]+/console/signin#\w{26}[\w-]{43}"), SIGN_IN_URL),
    (re.compile(r"(?<=\"serverVersion\":\")[^\"]+"), "0.2.0"),
    (re.compile(r"(?<=\"publicUrl\":\")[^\"]+"), "https://news.example.com"),
    (re.compile(r"\bwhsec_[\w+/=]+"), f"whsec_{'A' * 43}="),
    (re.compile(r"http://[\d.:]+/c/\w+"), f"https://news.example.com/c/{CONFIRM_TOKEN}"),
    (re.compile(r"http://[\d.:]+/u/\w+"), f"https://news.example.com/u/{UNSUBSCRIBE_TOKEN}"),
    (re.compile(r"http://127\.0\.0\.1:\d+/hook\b"), "https://example.com/hooks/roster"),
    (re.compile(r"\b[0-9a-f]{32}@example\.com"), "owner@example.com"),
    (
        re.compile(r"\b[0-9a-f]{64}\b"),
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ),
    (re.compile(r'(?<="durationMs":)\d+'), "84"),
    (re.compile(r'(?<="webhook-timestamp":")\d+'), str(int(NOW.timestamp()))),
    (re.compile(r'(?<="webhook-signature":")[^"]+'), f"v1,{'A' * 43}="),
    (re.compile(r"(?<=Roster-Webhooks/)[\w.]+"), "0.2.0"),
    (re.compile(r'(?<="rate":)[1-9][\d.]*'), "9500"),
)


def prepare(account: Account, name: str, webhook_url: str = UNREACHABLE) -> dict[str, str]:
    """Creates what the sample of an operation refers to.

    Returns the IDs and tokens that replace those of the sample, by these.
    """
    if name == "SignUp":
        _create(account, "CreateTag")
    if name == "SignIn":
        return {f"rk_{'0' * 46}": account.key}
    if name in CREATIONS:
        return {}
    ids = _create_resources(account, webhook_url)
    if name == "DeleteTag":
        account.ok("DeleteSegment", id=ids["segments"])
    path = OPERATIONS[name].path
    resource = path.split("/")[2]
    if "{token}" in path:
        return _tokens(account, ids["subscribers"])
    if resource == "exports":
        ids[resource] = _export(account)
    if resource == "operations":
        ids[resource] = _operation(account)
    if resource == "imports":
        ids[resource] = _import(account, name)
    if resource == "sessions":
        ids[resource] = account.ok("SignIn", token=account.key)["session"]["id"]
    if resource == "events":
        (event,) = account.ok("ListEvents", limit=1)["events"]
        ids[resource] = event["id"].removeprefix("evt_")
    if resource == "sign-in-links":
        ids[resource] = _create(account, "CreateSignInLink")
    if "deliveries" in path or name == "GetWebhookHealth":
        delivery = account.ok("TestWebhook", id=ids["webhooks"])["delivery"]
        ids["webhook-deliveries"] = delivery["id"]
    return {IDS[0]: ids[resource]} if resource in ids else {}


def _create_resources(account: Account, webhook_url: str) -> dict[str, str]:
    """Creates resources as the samples do, and returns their IDs by their names in paths."""
    account.ok("AddSuppressions", emails=[GONE])
    # Without deliveries until it is tested.
    webhook = {"url": webhook_url, "eventTypes": ["tag.deleted"], "enabled": False}
    colors = {"customFields": {"favorite_color": "blue"}}
    return {
        "webhooks": _create(account, "CreateWebhook", **webhook),
        "tags": _create(account, "CreateTag"),
        "custom-fields": _create(account, "CreateCustomField"),
        "segments": _create(account, "CreateSegment"),
        "keys": _create(account, "CreateApiKey"),
        "subscribers": _create(account, "CreateSubscriber", **colors),
    }


def _create(account: Account, name: str, **fields: Any) -> str:
    """Sends the body of a sample with other values of some fields, and returns the ID."""
    body = OPERATIONS[name].call.body
    assert body is not None
    response = account.ok(name, **{**body.example, **fields})
    return str(next(item["id"] for item in response.values() if isinstance(item, dict)))


def _tokens(account: Account, subscriber: str) -> dict[str, str]:
    return {
        CONFIRM_TOKEN: confirm_token(account, subscriber),
        UNSUBSCRIBE_TOKEN: unsubscribe_token(account, subscriber),
    }


def _export(account: Account) -> str:
    """Runs an export and returns its ID."""
    export = _create(account, "CreateExport")
    end = time.monotonic() + 20
    while not account.ok("GetExport", id=export)["export"]["done"]:
        assert time.monotonic() < end
        time.sleep(0.01)
    return export


def _import(account: Account, name: str) -> str:
    """Creates an import for an operation, which is inspected unless its file is uploaded."""
    content = b"email,firstName\nada@example.com,Ada\nbob@,Bob\n"
    if name == "UploadImportPart":
        return str(create(account, content)["id"])
    job = upload(account, content)
    if name in ("WatchImport", "ListImportFailures", "UndoImport"):
        run(account, job)
    return str(job["id"])


def _operation(account: Account) -> str:
    """Runs an operation and returns its ID."""
    operation = _create(account, "BatchChangeSubscribers")
    end = time.monotonic() + 20
    while not account.ok("GetOperation", id=operation)["operation"]["done"]:
        assert time.monotonic() < end
        time.sleep(0.01)
    return operation


def recorded(service: Service) -> bytes:
    """Returns the content of the file for the responses of a service."""
    front = HttpFront("http", service.http)
    with listening() as receiver:
        url = receiver.url
        content = {
            METHODS[name].full_name: {
                media_type: response
                for media_type in [body.media_type for body in operation.responses] or ["*/*"]
                if (response := _response(new_account(service, front), operation, media_type, url))
                is not None
            }
            for name, operation in OPERATIONS.items()
        }
    content = {rpc: responses for rpc, responses in content.items() if responses}
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _response(account: Account, operation: Operation, media_type: str, webhook_url: str) -> Any:
    """Returns the body of the response to the sample of an operation; None for pages."""
    call, examples = operation.call, {}
    path, body = call.path, call.body.text if call.body else ""
    for example, value in prepare(account, operation.anchor, webhook_url).items():
        if example in path + body:
            examples[value] = example
        path, body = path.replace(example, value), body.replace(example, value)
    headers = {"Accept": media_type, "Authorization": f"Bearer {account.key}"}
    if operation.anchor == "SignOut":
        headers = {"Cookie": _cookie(account), "Sec-Fetch-Site": "same-origin"}
    elif operation.anchor == "SignIn":
        headers["Sec-Fetch-Site"] = "same-origin"
    if call.body is not None:
        headers["Content-Type"] = call.body.media_type
    connection = HTTPConnection(account.service.http, timeout=60)
    connection.request(call.method, path, body=body.encode() or None, headers=headers)
    response = connection.getresponse()
    if operation.anchor.startswith("Tail"):
        # A tail never ends.
        account.ok("TestWebhook", id=account.ok("ListWebhooks")["webhooks"][0]["id"])
        lines = [response.readline()]
        lines += [response.readline()] if media_type == EVENT_STREAM else []
        text = b"".join(lines).decode()
    else:
        text = response.read().decode()
    connection.close()
    assert str(response.status) == operation.status, (operation.anchor, text)
    if not text or media_type == HTML:
        return None
    text = _normalized(text, examples)
    return orjson.loads(text) if media_type == JSON else text


def _cookie(account: Account) -> str:
    """Returns the cookie of a new session."""
    session = account.call("SignIn", token=account.key).session
    return f"roster-{account.service.http.rpartition(':')[2]}={session}"


def _normalized(text: str, examples: dict[str, str]) -> str:
    """Replaces what differs between runs. `examples` has the examples of known IDs."""
    for pattern, example in _REPLACED:
        text = pattern.sub(example, text)
    unused = iter([example for example in IDS if example not in examples.values()])

    def example_of(match: re.Match[str]) -> str:
        if match[0] not in examples:
            examples[match[0]] = next(unused)
        return examples[match[0]]

    return _DAY.sub(_day, _TIME.sub(_time, _ID.sub(example_of, text)))


def _time(match: re.Match[str]) -> str:
    """Returns a time at the same distance from NOW, in minutes, unless the request contains it."""
    minutes = round((datetime.fromisoformat(match[0]) - datetime.now(UTC)) / timedelta(minutes=1))
    if not -10 < minutes < 60 * 24 * 100:
        return match[0]
    shown = NOW + timedelta(minutes=minutes)
    return shown.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _day(match: re.Match[str]) -> str:
    return str(date.fromisoformat(match[0]) - datetime.now(UTC).date() + NOW.date())


def main() -> None:
    with TemporaryDirectory() as folder:
        service = start(Path(folder))
        try:
            FILE.write_bytes(recorded(service))
        finally:
            service.stop()


if __name__ == "__main__":
    main()
