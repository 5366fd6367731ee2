"""Tests of the start of `roster serve`, `serve-grpc` and `serve-http`."""

from __future__ import annotations

import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from string import Template

import pytest

from rosterd.server.features.accounts.rules import is_well_formed, make_secret
from rosterd.server.serving.console import ExitCode
from rosterd.server.serving.ready import Ready, announce

from ..components import free_port
from ..fronts import HttpFront
from ..processes import environment, start
from .commands import FREE, error_line, roster
from .transfers import is_accepted


@pytest.fixture
def used_address() -> Iterator[str]:
    """An address in use by another program."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_first_start_prints_address_key_and_a_curl_line_that_works(tmp_path: Path) -> None:
    service = start(tmp_path)
    try:
        text = "".join(service.printed)
        assert f"http://{service.http}" in text
        assert service.grpc in text
        assert is_well_formed(service.first_key)

        exported = dict(re.findall(r"export (\w+)=(\S+)", text))
        assert exported == {
            "ROSTER_URL": f"http://{service.http}",
            "ROSTER_API_KEY": service.first_key,
        }
        command = text[text.index("curl ") :].replace("\\\n", " ").splitlines()[0]
        words = [Template(word).safe_substitute(exported) for word in shlex.split(command)]
        headers = [words[at + 1] for at, word in enumerate(words) if word == "-H"]
        response = HttpFront("http", service.http).send(
            "POST",
            words[1].removeprefix(f"http://{service.http}"),
            body=words[words.index("-d") + 1].encode(),
            headers=dict(header.split(": ", 1) for header in headers),
        )
        assert response.status == 201
    finally:
        service.stop()


@pytest.mark.parametrize(
    ("database", "flag"),
    [
        ("data/roster.db", ""),
        ("/srv/x.db", " --database-url sqlite:////srv/x.db"),
        ("postgresql://host/x", ""),
    ],
)
@pytest.mark.parametrize("key", ["", "rk_first"])
def test_start_prints_how_to_stop_it_and_to_replace_a_lost_key(
    capsys: pytest.CaptureFixture[str], key: str, database: str, flag: str
) -> None:
    announce(
        Ready(http="http://127.0.0.1:1", database=database, first_key=key, sign_in="http://x#y")
    )

    printed = capsys.readouterr().out
    assert "Ctrl-C" in printed
    assert f"  export ROSTER_API_KEY={key or 'rk_…'}\n" in printed
    assert "\n  http://x#y\n" in printed
    for command in ("keys create --scope admin", "accounts list"):
        assert f"  roster {command}{flag}\n" in printed
    assert f"  roster console link{flag} --url http://127.0.0.1:1\n" in printed


def test_second_start_creates_no_key(tmp_path: Path) -> None:
    first, key = start(tmp_path), make_secret()
    first.stop()
    second = start(tmp_path, ROSTER_BOOTSTRAP_API_KEY=key)
    try:
        assert second.first_key == ""
        assert is_accepted(second, first.first_key)
        assert not is_accepted(second, key)
    finally:
        second.stop()


def test_bootstrap_key_is_the_first_key_of_a_verified_account(tmp_path: Path) -> None:
    key = make_secret()
    service = start(tmp_path, ROSTER_BOOTSTRAP_API_KEY=key)
    try:
        front = HttpFront("http", service.http)
        assert front.call("CreateCustomField", key, {"label": "City"}).status == 201
        assert front.call("ListApiKeys", key, {}).body["total"] == 1
    finally:
        service.stop()


@pytest.mark.parametrize("name", ["ROSTER_HTTP_ADDRESS", "ROSTER_GRPC_ADDRESS"])
def test_address_in_use_is_reported_before_the_database_is_created(
    tmp_path: Path, url: str, used_address: str, name: str
) -> None:
    done = roster("serve", **{"ROSTER_DATABASE_URL": url, **FREE, name: used_address})

    line = error_line(done, ExitCode.PORT_IN_USE)
    assert used_address in line
    assert name in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("serve", ["HTTP", "GRPC", "METRICS"]),
        ("serve-grpc", ["GRPC", "METRICS"]),
        ("serve-http", ["HTTP", "METRICS"]),
    ],
)
@pytest.mark.parametrize("processes", ["1", "2"])
def test_every_address_in_use_is_named_in_one_message(
    command: str, names: list[str], processes: str
) -> None:
    with ExitStack() as stack:
        settings = {}
        for name in names:
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            settings[f"ROSTER_{name}_ADDRESS"] = f"127.0.0.1:{listening.getsockname()[1]}"
        nowhere = {"ROSTER_DATABASE_URL": "postgresql://127.0.0.1:1/x"}

        done = roster(command, **nowhere, ROSTER_PROCESSES=processes, **settings)

    line = error_line(done, ExitCode.PORT_IN_USE)
    assert line.count("address already in use") == len(names)
    for name, address in settings.items():
        assert f"{address} (" in line
        assert name in line


def test_two_settings_with_the_same_address_are_rejected() -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = {"ROSTER_HTTP_ADDRESS": address, "ROSTER_GRPC_ADDRESS": address}
    settings |= {"ROSTER_DATABASE_URL": "postgresql://127.0.0.1:1/x"}

    line = error_line(roster("serve", **settings), ExitCode.PORT_IN_USE)

    assert "ROSTER_HTTP_ADDRESS is the same address" in line
    assert "ROSTER_GRPC_ADDRESS" in line


# Runs the command line, and sends SIGINT while it imports its modules.
INTERRUPTED = """
import os, signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == "rosterd.server.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from rosterd.server.__main__ import main
main()
"""


def test_interrupt_while_modules_are_imported_leaves_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "settings"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
