"""The examples of the page work as they stand, pasted into a shell or a file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any
from urllib.parse import quote

import pytest

from http_gateway.docs.highlight import BASE
from http_gateway.openapi.document import document
from server.app import SERVICES

from ... import tools
from ...conftest import Account, new_account
from ...fronts import HttpFront
from ...processes import Service
from .pages import sample

OPERATIONS = {
    operation["operationId"]: (path, operation)
    for path, item in document(SERVICES)["paths"].items()
    for operation in item.values()
    if not operation["operationId"].endswith("ByPatch")
}
EMAIL = "ada@example.com"
# The address whose owner had opted out.
GONE = "gone@example.com"
# The ids that examples have, and what they stand for, by the beginning of the path.
EXAMPLE_ID = re.compile("01M7Y2MPAQ036JVMBN3RCKGA5[JK]")
MAKERS = {
    "subscribers": ("CreateSubscriber", {"email": EMAIL}),
    "merge-tags": ("CreateSubscriber", {"email": EMAIL}),
    "tags": ("CreateTag", {"name": "another"}),
    "custom-fields": ("CreateCustomField", {"label": "Another"}),
    "keys": ("CreateApiKey", {"name": "another", "scope": "read"}),
    "webhooks": ("CreateWebhook", {"url": "http://127.0.0.1:9/", "enabled": False}),
}


@pytest.fixture
def account(service: Service) -> Account:
    return new_account(service, HttpFront("http", service.http))


def made_for(account: Account, room: str) -> str:
    """Makes what the paths of a room are about, and returns its id."""
    if room == "webhook-deliveries":
        tested = account.ok("TestWebhook", id=made_for(account, "webhooks"))
        return str(tested["delivery"]["id"])
    rpc, request = MAKERS[room]
    made = next(v for v in account.ok(rpc, **request).values() if isinstance(v, dict))
    return str(made["id"])


def prepared(account: Account, path: str, text: str) -> str:
    """Makes what an example is about, and returns the example with its id."""
    if EXAMPLE_ID.search(text):
        text = EXAMPLE_ID.sub(made_for(account, path.split("/")[2]), text)
    if quote(GONE, safe="") in text:
        made = account.ok("CreateSubscriber", email=GONE)["subscriber"]
        account.ok("ChangeSubscriberStatus", id=made["id"], status="BOUNCED")
        account.ok("DeleteSubscriber", id=made["id"])
    return text.replace(BASE, f"http://{account.service.http}")


def run(words: list[str], account: Account) -> str:
    """Runs a program that has the key in its environment, and returns what it printed."""
    environment = {**os.environ, "ROSTER_API_KEY": account.key}
    told = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert told.returncode == 0, told.stderr
    return told.stdout


def success_of(operation: dict[str, Any]) -> str:
    return next(status for status in operation["responses"] if status < "300")


# What is followed does not end by itself.
@pytest.mark.verify
@pytest.mark.parametrize("name", [name for name in OPERATIONS if not name.startswith("Tail")])
def test_curl_example_succeeds_when_it_is_pasted(name: str, html: str, account: Account) -> None:
    path, operation = OPERATIONS[name]
    curl = tools.program("curl", "curl")
    text = prepared(account, path, sample(html, name, "curl"))
    command = re.sub("^curl ", f"{curl} --silent --write-out '\\\\n%{{http_code}}' ", text)

    *_, status = run(["bash", "-c", command], account).splitlines()

    assert status == success_of(operation)


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
def test_python_example_succeeds_when_it_is_run(
    name: str, printed: str, html: str, account: Account
) -> None:
    path, _ = OPERATIONS[name]
    text = prepared(account, path, sample(html, name, "python"))

    assert run([sys.executable, "-c", text], account).startswith(printed)


@pytest.mark.parametrize("name", OPERATIONS)
def test_python_example_is_python(name: str, html: str) -> None:
    compile(sample(html, name, "python"), name, "exec")
