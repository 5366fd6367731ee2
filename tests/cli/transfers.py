"""Runs `roster import` and `roster export` against a service, and creates input files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..conftest import Account
from ..fronts import HttpFront
from ..processes import Service, environment
from .commands import Done, in_new_process, in_this_process

# A file of two rows.
CSV = b"email\nada@example.com\nbo@example.com\n"


def is_accepted(service: Service, key: str) -> bool:
    """Returns whether a running service accepts the key."""
    response = HttpFront("http", service.http).send("GET", "/api/tags", key)
    assert response.status in {200, 401}
    return response.status == 200


def command(account: Account, *arguments: str, url: str = "") -> tuple[list[str], dict[str, str]]:
    """Returns the arguments and the environment of a command for an account."""
    base = url or f"http://{account.service.http}"
    words = [sys.executable, "-mserver", *arguments, "--url", base]
    return words, environment(ROSTER_API_KEY=account.key, COLUMNS="200")


def transfer(account: Account, *arguments: str, url: str = "", stdin: bytes = b"") -> Done:
    """Runs a command until it exits, in a new process if it reads standard input."""
    words, settings = command(account, *arguments, url=url)
    if not stdin:
        return in_this_process(words[2:], settings)
    return in_new_process(*words[2:], stdin=stdin, **settings)


def counts_of(done: Done, code: int = 0) -> dict[str, Any]:
    """Returns the counts that an import with --json printed."""
    assert done.returncode == code, done.stderr
    counts: dict[str, Any] = json.loads(done.stdout)
    return counts


def write_ndjson(path: Path, rows: Iterable[dict[str, Any]]) -> str:
    """Writes rows as NDJSON and returns the path."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


def people(count: int) -> list[dict[str, Any]]:
    """Returns valid rows."""
    return [
        {"email": f"p{number}@example.com", "firstName": f"P{number}"} for number in range(count)
    ]


def emails(account: Account) -> list[str]:
    """Returns the addresses of all subscribers of an account, oldest first."""
    addresses: list[str] = []
    page = account.ok("ListSubscribers", limit=100)
    while page["subscribers"]:
        addresses += [subscriber["email"] for subscriber in page["subscribers"]]
        page = account.ok("ListSubscribers", limit=100, page=page["page"] + 1)
    return addresses


def total(account: Account) -> int:
    return int(account.ok("ListSubscribers", limit=1)["total"])


def failure_rows(file: str) -> list[dict[str, Any]]:
    """Returns the failed rows of a file in NDJSON."""
    text = file_next_to(file, "failures.ndjson").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def file_next_to(file: str, ending: str) -> Path:
    return Path(f"{file}.{ending}")


def failed_import(account: Account, *arguments: str, url: str = "") -> tuple[int, str]:
    """Returns the exit code and the error line of an import."""
    done = transfer(account, "import", *arguments, url=url)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("roster: ")
    return done.returncode, line
