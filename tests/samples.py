"""Runs code samples of the documentation: shell commands, Python, JavaScript and grpcurl."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from google.protobuf import json_format, message_factory

from .conftest import Account
from .documents import CodeBlock
from .fronts import METHODS
from .tools import FOLDER

# The addresses and the key in samples.
HTTP, GRPC, KEY = "http://127.0.0.1:8080", "127.0.0.1:50051", "rk_…"
# Stand for values in the last response.
_FROM_RESPONSE = {"01…": r"01[0-9A-Z]{24}", "whsec_…": r"whsec_[^\"]+"}
_ID = re.compile(_FROM_RESPONSE["01…"])
# Run around the commands of a block: an HTTP error fails a command, and variables are kept.
_BEFORE = """set -eu
if [ -f .variables ]; then . ./.variables; fi
curl() { command curl --silent --show-error --fail-with-body "$@"; }
"""
_AFTER = "export -p > .variables\n"


class Started(NamedTuple):
    """A program in the background: its process group, and the file with its output."""

    group: int
    output: Path


@dataclass
class Terminal:
    """Runs code blocks of documents one after another, as if they were typed into one terminal.

    `replaced` are the texts for which others are typed, such as addresses. Programs with a name in
    the comment before them are saved as that file, and others are run. JSON and text are compared
    with the last output. Blocks that set up or start the service are left out.
    """

    folder: Path
    environment: Mapping[str, str]
    replaced: Mapping[str, str]
    output: str = ""
    section: str = ""
    blocks: int = 0
    started: list[Started] = field(default_factory=list)

    def type(self, block: CodeBlock) -> None:
        """Runs or compares a block. Raises AssertionError if the result is another."""
        if block.section != self.section:
            self.section, self.output = block.section, ""
        text, program = self._typed(block.text), re.match("example: (.+)", block.mark)
        if program is not None:
            (self.folder / program[1]).write_text(text)
        elif block.language == "json" and self.output:
            assert shape(json.loads(self.output)) == shape(json.loads(text))
        elif block.language == "text":
            assert _ID.sub("ID", self.output) == _ID.sub("ID", text)
        elif block.language in ("sh", "grpcurl") and not re.search("^(make|git) ", text, re.M):
            self._run(text, fails=block.mark == "fails")
        elif block.language in _INTERPRETERS:
            interpreter, name = _INTERPRETERS[block.language]
            (self.folder / name).write_text(text)
            self._run(f"{interpreter} {name}\n")

    def _typed(self, text: str) -> str:
        if self.started:
            text = text.replace("kill %%", f"kill -- -{self.started[-1].group}")
        for old, new in self.replaced.items():
            text = text.replace(old, new)
        for placeholder, pattern in _FROM_RESPONSE.items():
            if placeholder in text:
                found = re.search(pattern, self.output)
                assert found is not None, (placeholder, self.output)
                text = text.replace(placeholder, found[0])
        return text

    def _run(self, code: str, *, fails: bool = False) -> None:
        # Files, because a program in the background would keep a pipe open.
        self.blocks += 1
        files = [self.folder / f".{name}{self.blocks}" for name in ("output", "errors")]
        with files[0].open("w") as output, files[1].open("w") as errors:
            process = subprocess.Popen(
                ["bash", "-c", f"{_BEFORE}{code}{_AFTER}"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
            status = process.wait(timeout=120)
        if code.endswith(" &\n"):
            self.started.append(Started(process.pid, files[0]))
        self.output = files[0].read_text()
        assert (status != 0) == fails, f"{code}\n{self.output}\n{files[1].read_text()}"

    def close(self) -> None:
        """Ends the programs in the background that a block has not ended."""
        while self.started:
            with suppress(ProcessLookupError):
                os.killpg(self.started.pop().group, signal.SIGTERM)


# The interpreter and the file of a program without a name.
_INTERPRETERS = {"python": ("python", "sample.py"), "javascript": ("node", "sample.mjs")}


def shape(value: Any) -> Any:
    """Returns the structure of JSON: types instead of values, and one item per list.

    Constants such as statuses are kept.
    """
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value[:1]]
    return value if isinstance(value, str) and re.fullmatch("[A-Z_]+", value) else type(value)


def localized(text: str, account: Account) -> str:
    """Returns a sample with the addresses of the running service."""
    service = account.service
    return text.replace(HTTP, f"http://{service.http}").replace(GRPC, service.grpc)


def run(words: list[str], account: Account) -> subprocess.CompletedProcess[str]:
    """Runs a program with the URL and the API key in its environment."""
    path = f"{Path(sys.executable).parent}:{FOLDER / 'bin'}:{os.environ['PATH']}"
    url = f"http://{account.service.http}"
    return subprocess.run(
        words,
        env={**os.environ, "PATH": path, "ROSTER_URL": url, "ROSTER_API_KEY": account.key},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


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
