"""The code samples of the reference work when they are pasted unchanged."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from ... import tools
from ...cases import each
from ...conftest import Account, new_account
from ...contract.response_examples import prepare
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


@pytest.fixture
def account(service: Service) -> Account:
    return new_account(service, HttpFront("http", service.http))


def prepared(account: Account, name: str, text: str) -> str:
    """Creates the resources that a sample refers to, and returns the sample with their IDs."""
    for example, value in prepare(account, name).items():
        text = text.replace(example, value)
    return localized(text, account)


def output(words: list[str], account: Account) -> str:
    done = run(words, account)
    assert done.returncode == 0, done.stderr
    return done.stdout


def success_of(operation: dict[str, Any]) -> str:
    return next(status for status in operation["responses"] if status < "300")


# Only a session signs out.
@pytest.mark.verify
@pytest.mark.parametrize("name", [name for name in ENDING if name != "SignOut"])
def test_curl_sample_succeeds(name: str, html: str, account: Account) -> None:
    curl = tools.program("curl", "curl")
    text = prepared(account, name, sample(html, name, "curl"))
    command = re.sub("^curl ", f"{curl} --silent --write-out '\\\\n%{{http_code}}' ", text)

    *_, status = output(["bash", "-c", command], account).splitlines()

    assert status == success_of(OPERATIONS[name][1])


@pytest.mark.parametrize("name", [name for name in ENDING if name != "SignOut"])
def test_grpc_sample_succeeds(name: str, html: str, account: Account) -> None:
    messages = run_grpcurl(prepared(account, name, sample(html, name, "grpc")), account)

    assert len(messages) == 1 or METHODS[name].server_streaming


@pytest.mark.verify
@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("CreateSubscriber", "201 {'subscriber': {'id': "),
        ("SignIn", "201 {'session': {'id': "),
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
