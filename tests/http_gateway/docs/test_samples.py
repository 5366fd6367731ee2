"""The code samples of the reference work when they are pasted unchanged."""

from __future__ import annotations

import re
import sys
from typing import Any
from urllib.parse import quote

import pytest

from ... import tools
from ...cases import each
from ...conftest import Account, new_account
from ...fronts import METHODS, HttpFront
from ...processes import Service
from ...samples import localized, run, run_grpcurl
from .html import DOCUMENT, sample

OPERATIONS = {
    operation["operationId"]: (path, operation)
    for path, item in DOCUMENT["paths"].items()
    for operation in item.values()
    if not operation["operationId"].endswith("ByPatch")
}
# A tail never ends.
ENDING = [name for name in OPERATIONS if not name.startswith("Tail")]
EMAIL = "ada@example.com"
# The address of a suppression.
GONE = "gone@example.com"
# The IDs in samples. The path determines the resource.
EXAMPLE_ID = re.compile("01M7Y2MPAQ036JVMBN3RCKGA5[JK]")
EXAMPLE_TOKEN = re.compile("EhQ3fJ9tVb6rKzP1wMxC7yNs|Ed4YkG7vLq2mWnR8sXbT5cZp")
CREATE = {
    "subscribers": ("CreateSubscriber", {"email": EMAIL}),
    "merge-tags": ("CreateSubscriber", {"email": EMAIL}),
    "tags": ("CreateTag", {"name": "another"}),
    "segments": ("CreateSegment", {"name": "another", "filter": "email:*"}),
    "operations": ("BatchChangeSubscribers", {"filter": "email:*", "action": {"delete": True}}),
    "custom-fields": ("CreateCustomField", {"label": "Another"}),
    "keys": ("CreateApiKey", {"name": "another", "scope": "read"}),
    "webhooks": ("CreateWebhook", {"url": "http://127.0.0.1:9/", "enabled": False}),
}


@pytest.fixture
def account(service: Service) -> Account:
    return new_account(service, HttpFront("http", service.http))


def created_id(account: Account, resource: str) -> str:
    """Creates a resource of a path and returns its id."""
    if resource == "webhook-deliveries":
        response = account.ok("TestWebhook", id=created_id(account, "webhooks"))
        return str(response["delivery"]["id"])
    rpc, request = CREATE[resource]
    created = next(v for v in account.ok(rpc, **request).values() if isinstance(v, dict))
    return str(created["id"])


def created_token(account: Account, path: str) -> str:
    """Creates a subscriber and returns the token of a link for a path."""
    account.ok("CreateSubscriber", email=EMAIL)
    links = account.ok("CreateSubscriberLinks", id=EMAIL)
    url: str = links["confirmUrl" if path.startswith("/c/") else "unsubscribeUrl"]
    return url.rpartition("/")[2]


def prepared(account: Account, name: str, text: str) -> str:
    """Creates the resources that a sample refers to, and returns the sample with their IDs."""
    path, _ = OPERATIONS[name]
    if name == "SignUp":
        account.ok("CreateTag", name="vip")
    if "{token}" in path:
        text = EXAMPLE_TOKEN.sub(created_token(account, path), text)
    if EXAMPLE_ID.search(text):
        text = EXAMPLE_ID.sub(created_id(account, path.split("/")[2]), text)
    if GONE in text or quote(GONE, safe="") in text:
        subscriber = account.ok("CreateSubscriber", email=GONE)["subscriber"]
        account.ok("ChangeSubscriberStatus", id=subscriber["id"], status="BOUNCED")
        account.ok("DeleteSubscriber", id=subscriber["id"])
    return localized(text, account)


def output(words: list[str], account: Account) -> str:
    done = run(words, account)
    assert done.returncode == 0, done.stderr
    return done.stdout


def success_of(operation: dict[str, Any]) -> str:
    return next(status for status in operation["responses"] if status < "300")


@pytest.mark.verify
@pytest.mark.parametrize("name", ENDING)
def test_curl_sample_succeeds(name: str, html: str, account: Account) -> None:
    curl = tools.program("curl", "curl")
    text = prepared(account, name, sample(html, name, "curl"))
    command = re.sub("^curl ", f"{curl} --silent --write-out '\\\\n%{{http_code}}' ", text)

    *_, status = output(["bash", "-c", command], account).splitlines()

    assert status == success_of(OPERATIONS[name][1])


@pytest.mark.parametrize("name", ENDING)
def test_grpc_sample_succeeds(name: str, html: str, account: Account) -> None:
    messages = run_grpcurl(prepared(account, name, sample(html, name, "grpc")), account)

    assert len(messages) == 1 or METHODS[name].server_streaming


@pytest.mark.verify
@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("CreateSubscriber", "201 {'subscriber': {'id': "),
        ("UpdateTag", "200 {'tag': {'id': "),
        ("DeleteCustomField", "204"),
        ("ImportSubscribers", "{'line': 1, 'outcome': 'CREATED', "),
    ],
)
def test_python_sample_succeeds(name: str, printed: str, html: str, account: Account) -> None:
    text = prepared(account, name, sample(html, name, "python"))

    assert output([sys.executable, "-c", text], account).startswith(printed)


@each("name", list(OPERATIONS))
def test_python_sample_compiles(name: str, html: str) -> None:
    compile(sample(html, name, "python"), name, "exec")
