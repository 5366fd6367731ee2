"""Every operation has examples that match its schemas and are accepted by the service."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

from jsonschema import Draft202012Validator

from rosterd.http_gateway.openapi.bodies import FORM
from rosterd.http_gateway.openapi.document import document
from rosterd.server.app import SERVICES
from rosterd.server.serving.gateway_policy import POLICY

from ...behavior.helpers import suppress
from ...cases import each
from ...conftest import Account
from ...fronts import HttpFront

DOCUMENT = document(SERVICES, POLICY)
OPERATIONS = {
    operation["operationId"]: (verb.upper(), path, operation)
    for path, item in DOCUMENT["paths"].items()
    for verb, operation in item.items()
}


def violations(schema: dict[str, Any], value: Any) -> list[str]:
    """Returns the violations of a schema of the document."""
    whole = {**schema, "components": DOCUMENT["components"]}
    checker = Draft202012Validator.FORMAT_CHECKER
    validator = Draft202012Validator(whole, format_checker=checker)
    return [error.message for error in validator.iter_errors(value)]


def contents(operation: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Returns the contents of an operation's request and responses."""
    bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
    resolved = [
        DOCUMENT["components"]["responses"][body["$ref"].rpartition("/")[2]]
        if "$ref" in body
        else body
        for body in bodies
    ]
    return [pair for body in resolved for pair in body.get("content", {}).items()]


@each("name", list(OPERATIONS))
def test_every_content_has_examples_that_match_its_schema(name: str) -> None:
    for media_type, content in contents(OPERATIONS[name][2]):
        values = [example["value"] for example in content.get("examples", {}).values()]
        values += [content["example"]] if "example" in content else []
        if not values and media_type in (FORM, "text/html"):
            continue

        assert values, media_type
        for value in values:
            assert violations(content["schema"], value) == []


@each("name", list(OPERATIONS))
def test_every_parameter_has_an_example_that_matches_its_schema(name: str) -> None:
    for parameter in OPERATIONS[name][2]["parameters"]:
        if "$ref" in parameter:
            parameter = DOCUMENT["components"]["parameters"][parameter["$ref"].rpartition("/")[2]]
        if parameter["name"] != "pageToken":  # A page token is valid for one list only.
            assert violations(parameter["schema"], parameter["example"]) == []


# A suppressed address, and the operations that create the resources of the other examples.
SUPPRESSED = "gone@example.com"
PREREQUISITES = [
    "CreateCustomField",
    "CreateSubscriber",
    "CreateTag",
    "CreateSegment",
    "CreateApiKey",
]
COUNT = {"filter": "email:*", "action": {"delete": True}, "dryRun": True}
# Disabled, and without a server.
DISABLED_WEBHOOK = {"url": "http://127.0.0.1:9/", "enabled": False}
# An endless stream.
ENDLESS = ["TailWebhookDeliveries"]


def test_service_accepts_every_example(http_account: Account) -> None:
    ids = create_resources(http_account)

    for name, (method, path, operation) in OPERATIONS.items():
        if name in (*PREREQUISITES, *ENDLESS):
            continue

        assert send(http_account, method, path, operation, ids) in {200, 201, 202, 204}, name

        if method == "DELETE":
            ids = create_resources(http_account)


def create_resources(account: Account) -> dict[str, str]:
    """Creates a resource of each type from its example; returns the IDs by path segment."""
    for name in PREREQUISITES:
        method, path, operation = OPERATIONS[name]
        assert send(account, method, path, operation, {}) in {201, 409}, name
    if account.call("GetSuppression", email=SUPPRESSED).status == 404:
        suppress(account, SUPPRESSED)
    segment = account.ok("ListSegments")["segments"][-1]["id"]
    account.ok("UpdateSegment", id=segment, filter="tags:vip")
    subscriber = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]["id"]
    webhook = account.ok("CreateWebhook", **DISABLED_WEBHOOK)["webhook"]["id"]
    return {
        "webhooks": webhook,
        "webhook-deliveries": account.ok("TestWebhook", id=webhook)["delivery"]["id"],
        "custom-fields": account.ok("ListCustomFields")["customFields"][0]["id"],
        "subscribers": subscriber,
        "segments": segment,
        "operations": account.ok("BatchChangeSubscribers", **COUNT)["operation"]["id"],
        "merge-tags": subscriber,
        "tags": account.ok("ListTags")["tags"][-1]["id"],
        "keys": account.ok("ListApiKeys")["apiKeys"][-1]["id"],
    }


def send(
    account: Account, method: str, path: str, operation: dict[str, Any], ids: dict[str, str]
) -> int:
    """Sends the example request with an existing ID and returns the status."""
    id_ = ids.get(path.split("/")[2], "")
    parameters = [p for p in operation["parameters"] if "example" in p]
    query = {p["name"]: as_text(p["example"]) for p in parameters if p["in"] == "query"}
    # Only lists and exports of subscribers have a segment, and statistics have several.
    query |= {name: ids["segments"] for name in query if name in ("segment", "segments")}
    body, headers = None, {}
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        example = content.get("example", "")
        text = example if isinstance(example, str) else json.dumps(example)
        if media_type == FORM and example:
            text = urlencode(example, doseq=True)
        body = text.replace("01M7Y2MPAQ036JVMBN3RCKGA5K", id_).encode()
        headers = {"Content-Type": media_type}
    token = token_of(account, path) if "{token}" in path else ""
    path = path.format(id=id_, webhookId=id_, email=quote(SUPPRESSED), token=token)
    target = f"{path}?{urlencode(query, doseq=True)}"
    assert isinstance(account.front, HttpFront)
    status, _, _ = account.front.exchange(method, target, account.key, body=body, headers=headers)
    return status


def token_of(account: Account, path: str) -> str:
    """Returns a token for the path of a link."""
    links = account.ok("CreateSubscriberLinks", id="ada@example.com")
    url: str = links["confirmUrl" if path.startswith("/c/") else "unsubscribeUrl"]
    return url.rpartition("/")[2]


def as_text(value: Any) -> Any:
    """Returns a value for a query."""
    return str(value).lower() if isinstance(value, bool) else value
