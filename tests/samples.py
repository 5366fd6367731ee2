"""Runs code samples of the documentation: shell commands, Python, JavaScript and grpcurl."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import json_format, message_factory

from .conftest import Account
from .fronts import METHODS
from .tools import FOLDER

# The addresses and the key in samples.
HTTP, GRPC, KEY = "http://127.0.0.1:8080", "127.0.0.1:50051", "rk_…"
# Prefixed to shell commands: an HTTP error fails the command.
_CURL = 'curl() { command curl --silent --show-error --fail-with-body "$@"; }\n'


def localized(text: str, account: Account) -> str:
    """Returns a sample with the addresses of the running service."""
    service = account.service
    return text.replace(HTTP, f"http://{service.http}").replace(GRPC, service.grpc)


def run(
    words: list[str], account: Account, folder: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program with the API key in its environment."""
    path = f"{Path(sys.executable).parent}:{FOLDER / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        words,
        env={**os.environ, "PATH": path, "ROSTER_API_KEY": account.key, **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def run_shell(
    code: str, account: Account, folder: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs shell commands until one fails."""
    code = localized(code, account).replace(KEY, account.key)
    url = f"--url http://{account.service.http}"
    transfer = r"^(roster (?:(?:suppressions )?(?:import|export)|batch) [^\n]*)"
    code = re.sub(transfer, rf"\1 {url}", code, flags=re.MULTILINE)
    return run(["bash", "-euc", _CURL + code], account, folder, **variables)


def run_grpcurl(command: str, account: Account) -> list[dict[str, Any]]:
    """Sends the request of a grpcurl command and returns the response messages."""
    data, metadata, positional = "", [], []
    text = localized(command, account).replace("\\\n", " ")
    words = iter(shlex.split(text.replace("$ROSTER_API_KEY", account.key)))
    assert (next(words), next(words)) == ("grpcurl", "-plaintext")
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            metadata.append((name, value))
        elif word == "-d":
            data = next(words)
        else:
            positional.append(word)
    address, rpc = positional
    method = METHODS[rpc.rpartition("/")[2]]
    assert rpc == f"{method.containing_service.full_name}/{method.name}"
    request, response = map(
        message_factory.GetMessageClass, (method.input_type, method.output_type)
    )
    values = [_with_masks(value) for value in _values(data or "{}")]
    messages = [json_format.ParseDict(value, request()) for value in values]
    kind = (
        f"{'stream' if method.client_streaming else 'unary'}"
        f"_{'stream' if method.server_streaming else 'unary'}"
    )
    with grpc.insecure_channel(address) as channel:
        call = getattr(channel, kind)(f"/{rpc}", request.SerializeToString, response.FromString)
        sent = iter(messages) if method.client_streaming else messages[0]
        result = call(sent, metadata=metadata, timeout=30)
        results = list(result) if method.server_streaming else [result]
    return [json_format.MessageToDict(item) for item in results]


def _with_masks(message: dict[str, Any]) -> dict[str, Any]:
    """Returns a message of grpcurl in ProtoJSON, which writes a field mask as a string."""
    return {
        name: ",".join(map(_json_name, value["paths"]))
        if isinstance(value, dict) and list(value) == ["paths"]
        else value
        for name, value in message.items()
    }


def _json_name(name: str) -> str:
    return re.sub("_([a-z])", lambda match: match[1].upper(), name)


def _values(text: str) -> Iterator[Any]:
    """Yields the JSON values of a text, which follow one another."""
    decoder = json.JSONDecoder()
    while text := text.strip():
        value, end = decoder.raw_decode(text)
        yield value
        text = text[end:]
