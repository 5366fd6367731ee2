"""The README is true: its commands run, and its tables are those of the code."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from google.api import annotations_pb2
from roster.v1 import http_pb2

from server.config import SETTINGS

from .conftest import new_account
from .fronts import METHODS, HttpFront
from .processes import Service

README = (Path(__file__).parent.parent / "README.md").read_text()
COMMANDS = re.findall(r"<!-- test: (\d+) -->\n```sh\n(.*?)```", README, re.DOTALL)


def test_readme_names_the_two_commands() -> None:
    assert "make run" in README
    assert "make test" in README


def test_every_command_of_the_readme_answers_as_it_says(service: Service) -> None:
    front = HttpFront("http", service.http)
    key = new_account(service, front).key

    told = []
    subscriber = ""
    for _, command in COMMANDS:
        status, answer = send(front, command.replace("$ID", subscriber), key)
        told.append((status, command))
        subscriber = subscriber or json.loads(answer)["subscriber"]["id"]

    assert told == [(int(status), command) for status, command in COMMANDS]


@pytest.mark.parametrize("example", re.findall(r"```json\n(.*?)```", README, re.DOTALL))
def test_every_answer_in_the_readme_is_json(example: str) -> None:
    assert json.loads(example)


def send(front: HttpFront, command: str, key: str) -> tuple[int, bytes]:
    """Sends what a curl command says, with the standard library's client."""
    text = command.replace("$BASE", "").replace("$KEY", key).replace("\\\n", " ")
    typed, _, text = text.rpartition("|\n")
    words = iter(shlex.split(text)[1:])
    path, method, body, headers = "", None, None, {}
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(words).encode()
        elif word == "--data-binary":
            assert next(words) == "@-"
            body = shlex.split(typed)[1].replace("\\n", "\n").encode()
        elif word == "-X":
            method = next(words)
        else:
            path = word
    verb = method or ("POST" if body else "GET")
    status, _, answer = front.exchange(verb, path, body=body, headers=headers)
    return status, answer


def test_table_of_settings_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `(ROSTER_\w+)` \| (.*?) \| (.*) \|$", README, re.MULTILINE)

    assert rows == [
        (row.environment, f"`{row.default}`" if row.default else "", row.help)
        for row in SETTINGS.values()
    ]


def test_table_of_operations_is_that_of_the_protos() -> None:
    rows = re.findall(r"^\| `(\w+\.\w+)` \| (.*?) \| (\d+) \|$", README, re.MULTILINE)

    assert rows == [
        (f"{method.containing_service.name}.{name}", *http_of(name))
        for name, method in METHODS.items()
    ]


def http_of(rpc: str) -> tuple[str, str]:
    """Returns the HTTP methods and path of an rpc as the README writes them, and its status."""
    options = METHODS[rpc].GetOptions()
    rule = options.Extensions[annotations_pb2.http]
    rules = [rule, *rule.additional_bindings]
    verbs = [each.WhichOneof("pattern") for each in rules]
    *others, last = [verb.upper() for verb in verbs]
    binding = ", ".join([*(f"`{verb}`" for verb in others), f"`{last} {getattr(rule, verbs[0])}`"])
    return binding, str(options.Extensions[http_pb2.success_status] or 200)
