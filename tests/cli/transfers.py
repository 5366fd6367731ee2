"""Running `roster import` and `roster export` against a service, and data for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest.mock import patch

from server.cli import main

from ..conftest import Account
from ..fronts import HttpFront
from ..processes import Service, environment

Done = subprocess.CompletedProcess[str]


def first_account(service: Service) -> Account:
    """Returns the first account of a service, through HTTP."""
    return Account("", service.first_key, HttpFront("http", service.http), service)


def command(account: Account, *arguments: str, url: str = "") -> tuple[list[str], dict[str, str]]:
    """Returns the words and the environment of a command for an account."""
    at = url or f"http://{account.service.http}"
    words = [sys.executable, "-mserver", *arguments, "--url", at]
    return words, environment(ROSTER_API_KEY=account.key, COLUMNS="200")


def transfer(account: Account, *arguments: str, url: str = "", stdin: str | None = None) -> Done:
    """Runs a command to its end: in a process of its own only if it reads standard input."""
    words, settings = command(account, *arguments, url=url)
    if stdin is None:
        return in_this_process(words[2:], settings)
    return subprocess.run(
        words, env=settings, input=stdin, capture_output=True, encoding="utf-8", timeout=60
    )


def in_this_process(arguments: list[str], settings: dict[str, str]) -> Done:
    """Runs a command as `roster` does, which takes a tenth of the time of a fresh process."""
    printed, said = (TextIOWrapper(BytesIO(), "utf-8", newline="\n") for _ in range(2))
    with (
        patch.object(sys, "argv", ["roster", *arguments]),
        patch.dict(os.environ, settings, clear=True),
        redirect_stdout(printed),
        redirect_stderr(said),
    ):
        try:
            main()
            code: Any = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(arguments, code, text_of(printed), text_of(said))


def text_of(stream: TextIOWrapper) -> str:
    """Returns what was written to a stream."""
    stream.seek(0)
    return stream.read()


def counted(done: Done, code: int = 0) -> dict[str, Any]:
    """Returns the counts that an import printed with --json."""
    assert done.returncode == code, done.stderr
    counts: dict[str, Any] = json.loads(done.stdout)
    return counts


def written(path: Path, rows: Iterable[dict[str, Any]]) -> str:
    """Writes rows as NDJSON and returns the path."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


def people(count: int) -> list[dict[str, Any]]:
    """Returns rows that can all be taken."""
    return [
        {"email": f"p{number}@example.com", "firstName": f"P{number}"} for number in range(count)
    ]


def emails(account: Account) -> list[str]:
    """Returns the addresses of all subscribers of an account, oldest first."""
    found: list[str] = []
    page = account.ok("ListSubscribers", limit=100)
    while page["subscribers"]:
        found += [subscriber["email"] for subscriber in page["subscribers"]]
        page = account.ok("ListSubscribers", limit=100, page=page["page"] + 1)
    return found


def total(account: Account) -> int:
    """Returns how many subscribers an account has."""
    return int(account.ok("ListSubscribers", limit=1)["total"])
