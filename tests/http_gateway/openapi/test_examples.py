"""Examples: each operation has them, they fit their schemas, and a service takes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from jsonschema import Draft202012Validator

from http_gateway.openapi.document import document
from server.app import SERVICES

from ...behavior.helpers import suppress
from ...conftest import Account
from ...fronts import HttpFront

DOCUMENT = document(SERVICES)
OPERATIONS = {
    operation["operationId"]: (verb.upper(), path, operation)
    for path, item in DOCUMENT["paths"].items()
    for verb, operation in item.items()
}


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    """Returns what is wrong with a value by a schema of the document."""
    whole = {**schema, "components": DOCUMENT["components"]}
    checker = Draft202012Validator.FORMAT_CHECKER
    validator = Draft202012Validator(whole, format_checker=checker)
    return [error.message for error in validator.iter_errors(value)]


def contents(operation: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Returns every content of an operation: of its request, and of each answer."""
    bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
    resolved = [
        DOCUMENT["components"]["responses"][body["$ref"].rpartition("/")[2]]
        if "$ref" in body
        else body
        for body in bodies
    ]
    return [pair for body in resolved for pair in body.get("content", {}).items()]


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_content_has_examples_that_fit_its_schema(name: str) -> None:
    for media_type, content in contents(OPERATIONS[name][2]):
        shown = [each["value"] for each in content.get("examples", {}).values()]
        shown += [content["example"]] if "example" in content else []

        assert shown, media_type
        for value in shown:
            assert faults(content["schema"], value) == []


@pytest.mark.parametrize("name", ["ImportSubscribers", "ExportSubscribers"])
def test_examples_of_records_fit_their_schema(name: str) -> None:
    lines = [
        (content["schema"]["contentSchema"], content["example"])
        for media_type, content in contents(OPERATIONS[name][2])
        if media_type == "application/x-ndjson"
    ]

    assert lines
    for schema, example in lines:
        assert faults(schema, json.loads(example)) == []


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_parameter_has_an_example_that_fits_its_schema(name: str) -> None:
    for parameter in OPERATIONS[name][2]["parameters"]:
        if "$ref" in parameter:
            parameter = DOCUMENT["components"]["parameters"][parameter["$ref"].rpartition("/")[2]]
        if parameter["name"] != "pageToken":  # one is good for one list only
            assert faults(parameter["schema"], parameter["example"]) == []


@pytest.mark.parametrize("name", DOCUMENT["components"]["schemas"])
def test_every_example_of_a_property_fits_its_schema(name: str) -> None:
    for schema in DOCUMENT["components"]["schemas"][name].get("properties", {}).values():
        for example in schema.get("examples", []):
            assert faults(schema, example) == []


# An address that was suppressed, and those whose examples others take for granted.
GONE = "gone@example.com"
FIRST = ["CreateCustomField", "CreateSubscriber", "CreateTag", "CreateApiKey"]
# One that nobody serves, and that has nothing sent to it but a test.
SILENT = {"url": "http://127.0.0.1:9/", "enabled": False}
# Its answer does not end, and the webhook of its example is nobody's.
ENDLESS = ["TailWebhookDeliveries"]


def test_service_takes_every_example(http_account: Account) -> None:
    ids = made(http_account)

    for name, (method, path, operation) in OPERATIONS.items():
        if name in (*FIRST, *ENDLESS):
            continue

        assert send(http_account, method, path, operation, ids) in {200, 201, 202, 204}, name

        if method == "DELETE":
            ids = made(http_account)


def made(account: Account) -> dict[str, str]:
    """Creates one of each by its example, unless it is there; returns identifiers, by room."""
    for name in FIRST:
        method, path, operation = OPERATIONS[name]
        assert send(account, method, path, operation, {}) in {201, 409}, name
    if account.call("GetSuppression", email=GONE).status == 404:
        suppress(account, GONE)
    subscriber = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]["id"]
    webhook = account.ok("CreateWebhook", **SILENT)["webhook"]["id"]
    return {
        "webhooks": webhook,
        "webhook-deliveries": account.ok("TestWebhook", id=webhook)["delivery"]["id"],
        "custom-fields": account.ok("ListCustomFields")["customFields"][0]["id"],
        "subscribers": subscriber,
        "merge-tags": subscriber,
        "tags": account.ok("ListTags")["tags"][-1]["id"],
        "keys": account.ok("ListApiKeys")["apiKeys"][-1]["id"],
    }


def send(
    account: Account, method: str, path: str, operation: dict[str, Any], ids: dict[str, str]
) -> int:
    """Sends the example of a request, with an identifier that there is, and returns the status."""
    id_ = ids.get(path.split("/")[2], "")
    parameters = [each for each in operation["parameters"] if "example" in each]
    query = {each["name"]: each["example"] for each in parameters if each["in"] == "query"}
    body, headers = None, {}
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        example = content["example"]
        text = example if isinstance(example, str) else json.dumps(example)
        body = text.replace("01M7Y2MPAQ036JVMBN3RCKGA5K", id_).encode()
        headers = {"Content-Type": media_type}
    target = f"{path.format(id=id_, webhookId=id_, email=quote(GONE))}?{urlencode(query)}"
    assert isinstance(account.front, HttpFront)
    status, _, _ = account.front.exchange(method, target, account.key, body=body, headers=headers)
    return status


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yields every object in a value."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from objects(inner)


@pytest.mark.parametrize("name", OPERATIONS)
def test_answer_that_is_shown_tells_of_nothing_that_cannot_be_at_once(name: str) -> None:
    _, _, operation = OPERATIONS[name]
    contents = [answer.get("content", {}) for answer in operation["responses"].values()]
    shown = [each["example"] for content in contents for each in content.values()]

    for found in (found for example in shown for found in objects(example)):
        if found.get("enabled"):
            assert found.keys().isdisjoint({"disabledReason", "failingSince"})
        if found.get("status") in ("PENDING", "SENDING"):
            assert "finishedAt" not in found
