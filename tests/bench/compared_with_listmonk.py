"""Compares Roster with listmonk on one PostgreSQL server.

    ROSTER_LISTMONK=/opt/listmonk ROSTER_POSTGRES=/usr/lib/postgresql/15 \\
        python -m tests.bench.compared_with_listmonk

ROSTER_LISTMONK is a folder with `listmonk`, `static` and `i18n` of listmonk 6.2, and
ROSTER_POSTGRES one with the `bin` and `lib` of a PostgreSQL server that has pgcrypto. Both
services have a database on the same server, with its default settings, and hold 10,000 people
on two lists or with two tags. They are measured alternately.
"""

from __future__ import annotations

import csv
import http.client
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from rosterd.server.security.encryption import make_key

from .. import memory, reaper
from ..citus.node import OWNER, Node
from ..components import accepts_connections, free_port, wait_until
from . import requests_on_databases as roster_requests
from .measurement import (
    NUMBER,
    SHORT,
    Rate,
    cpu_seconds,
    in_turns,
    load,
    median,
    request,
    unique_numbers,
)
from .subjects import SAMPLE, SUBSCRIBERS, Subject, started

IMPORT_ROWS = 2_000 if SHORT else 20_000
REPETITIONS = 1 if SHORT else 3
# The ids of the first lists after those that the installation creates.
LISTS = [3, 4]
# Interval in seconds at which the state of an import is read.
PAUSE = 0.02

_files = count()


class Listmonk(NamedTuple):
    """A running listmonk, and the processes of it and of its database."""

    address: str
    token: str
    processes: list[int]

    def call(self, method: str, path: str, body: bytes = b"", kind: str = "") -> Any:
        """Sends a request and returns what its response holds."""
        connection = http.client.HTTPConnection(self.address)
        headers = {"Authorization": f"token bench:{self.token}"}
        connection.request(
            method, path, body, {**headers, "Content-Type": kind or "application/json"}
        )
        response = connection.getresponse()
        text = response.read()
        connection.close()
        if response.status != 200:
            raise SystemExit(f"listmonk: {method} {path}: {response.status} {text!r}")
        return json.loads(text)["data"]

    def request(self, method: str, path: str, body: Any = None) -> bytes:
        """Returns a complete request for `load`."""
        return request(method, path, f"bench:{self.token}", body, scheme="token")

    def import_rows(self, rows: int, lists: list[int]) -> float:
        """Imports new people and returns the seconds until all are stored."""
        parameters = {
            "mode": "subscribe",
            "subscription_status": "confirmed",
            "delim": ",",
            "lists": lists,
            "overwrite": True,
        }
        mark = "boundary-of-the-import"
        body = (
            f'--{mark}\r\nContent-Disposition: form-data; name="params"\r\n\r\n'
            f"{json.dumps(parameters)}\r\n--{mark}\r\n"
            'Content-Disposition: form-data; name="file"; filename="people.csv"\r\n'
            f"Content-Type: text/csv\r\n\r\n{people(rows)}\r\n--{mark}--\r\n"
        )
        path = "/api/import/subscribers"
        began = time.perf_counter()
        self.call("POST", path, body.encode(), f"multipart/form-data; boundary={mark}")
        while (state := self.call("GET", path))["status"] not in ("finished", "failed"):
            time.sleep(PAUSE)
        seconds = time.perf_counter() - began
        if state["status"] == "failed" or state["imported"] != rows:
            raise SystemExit(f"listmonk: an import failed: {state}")
        self.call("DELETE", path)
        return seconds


def people(rows: int) -> str:
    """Returns new people as CSV."""
    prefix, file = next(_files), io.StringIO()
    writer = csv.writer(file)
    writer.writerow(("email", "name", "attributes"))
    writer.writerows((f"csv{prefix}.{n}@example.com", "Ada Lovelace", "{}") for n in range(rows))
    return file.getvalue()


@contextmanager
def listmonk(installation: Path, folder: Path, server: Node) -> Iterator[Listmonk]:
    """Installs listmonk in a new database, and runs it for the length of a block."""
    server.run("CREATE DATABASE listmonk")
    server.run("CREATE EXTENSION pgcrypto", "listmonk")
    address = f"127.0.0.1:{free_port()}"
    (folder / "config.toml").write_text(
        f"""
[app]
address = "{address}"

[db]
host = "127.0.0.1"
port = {server.port}
user = "{OWNER}"
password = ""
database = "listmonk"
ssl_mode = "disable"
max_open = 25
max_idle = 25
max_lifetime = "300s"
params = ""
"""
    )
    command: list[str | Path] = [installation / "listmonk", "--config", folder / "config.toml"]
    command += ["--static-dir", installation / "static", "--i18n-dir", installation / "i18n"]
    users = {"ADMIN_USER": "admin", "ADMIN_PASSWORD": "bench-bench", "ADMIN_API_USER": "bench"}
    # listmonk reads other variables with its prefix as configuration.
    clean = {name: value for name, value in os.environ.items() if "LISTMONK" not in name}
    clean["TMPDIR"] = str(folder)
    installed = subprocess.run(
        [*command, "--install", "--yes"],
        env=clean | {f"LISTMONK_{name}": value for name, value in users.items()},
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
    )
    token = re.search(r'LISTMONK_ADMIN_API_TOKEN="([^"]+)"', installed.stderr)
    if token is None:
        raise SystemExit(f"listmonk --install failed: {installed.stdout}{installed.stderr}")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--passive"], env=clean, stdout=log, stderr=log, cwd=folder
        )
    try:
        wait_until(lambda: accepts_connections(address), "listmonk does not serve")
        service = Listmonk(address, token[1], [process.pid, server.pid])
        for number in LISTS:
            new = {"name": f"list {number}", "type": "private", "optin": "single"}
            created = service.call("POST", "/api/lists", json.dumps(new).encode())
            assert created["id"] == number
        service.import_rows(SUBSCRIBERS, LISTS)
        yield service
    finally:
        process.terminate()
        process.wait(timeout=30)


def listmonk_requests(service: Listmonk) -> dict[str, list[bytes]]:
    """Returns the requests of each measurement."""
    sample = service.call("GET", f"/api/subscribers?per_page={SAMPLE}")["results"]
    paths = [f"/api/subscribers/{each['id']}" for each in sample]
    new = {
        "email": f"person{next(unique_numbers)}.{NUMBER}@example.com",
        "name": "Ada Lovelace",
        "status": "enabled",
        "lists": LISTS,
        "preconfirm_subscriptions": True,
    }
    return {
        "get by id": [service.request("GET", path) for path in paths],
        "list 20": [service.request("GET", "/api/subscribers?per_page=20")],
        "update": [service.request("PATCH", path, {"name": f"Ada {NUMBER}"}) for path in paths],
        "create": [service.request("POST", "/api/subscribers", new)],
    }


def roster_import(subject: Subject) -> float:
    """Imports the same rows and returns the seconds until the last result."""
    body = people(IMPORT_ROWS).encode()
    connection = http.client.HTTPConnection(subject.service.http)
    began = time.perf_counter()
    connection.request(
        "POST",
        "/api/subscribers/import?preset=listmonk&addTags=newsletter",
        body,
        {"Authorization": f"Bearer {subject.key}", "Content-Type": "text/csv"},
    )
    results = connection.getresponse().read()
    seconds = time.perf_counter() - began
    connection.close()
    if results.count(b'"CREATED"') != IMPORT_ROWS:
        raise SystemExit(f"roster: an import failed: {results[-300:]!r}")
    return seconds


def measured(ours: Subject, theirs: Listmonk) -> Iterator[tuple[str, Rate, Rate]]:
    """Yields each measurement with the medians of Roster and listmonk."""
    requests = {
        "get by id": roster_requests.gets,
        "list 20": roster_requests.pages,
        "update": roster_requests.updates,
        "create": roster_requests.creates,
    }
    for name, make in requests.items():
        rates = in_turns(
            lambda make=make: load(ours.service.http, make(ours), ours.processes),
            lambda name=name: load(
                theirs.address, listmonk_requests(theirs)[name], theirs.processes
            ),
            repetitions=REPETITIONS,
        )
        yield name, *map(median, rates)

    def imported(processes: list[int], seconds: Any) -> Rate:
        before = cpu_seconds(processes)
        rate = IMPORT_ROWS / seconds()
        spent = cpu_seconds(processes) - before
        return Rate(rate, cpu_seconds=1_000 * spent / IMPORT_ROWS)

    rates = in_turns(
        lambda: imported(ours.processes, lambda: roster_import(ours)),
        lambda: imported(theirs.processes, lambda: theirs.import_rows(IMPORT_ROWS, LISTS[:1])),
        repetitions=REPETITIONS,
    )
    yield "import of rows", *map(median, rates)


@contextmanager
def server(programs: Path) -> Iterator[Node]:
    """Runs a PostgreSQL server with its default settings for the length of a block."""
    with memory.folder(on_disk=True) as folder:
        if os.geteuid() == 0:
            shutil.chown(folder, OWNER, OWNER)
        node = Node(programs, folder / "node", settings="")
        try:
            node.start()
            yield node
        finally:
            node.end()


def cells(rate: Rate) -> list[str]:
    quantiles = "" if rate.last_ms is None else f"{rate.median_ms:.1f}, {rate.last_ms:.1f}"
    return [f"{rate.per_second:,.0f}", quantiles, f"{rate.cpu_seconds:.2f}"]


def main() -> None:
    try:
        installation, programs = (
            Path(os.environ[name]) for name in ("ROSTER_LISTMONK", "ROSTER_POSTGRES")
        )
    except KeyError as missing:
        raise SystemExit(f"Set {missing} as the module describes.") from None
    reaper.start()
    table = Table("per second", box=None)
    for name in ("Roster", "listmonk"):
        for column in (name, "p50, p99 in ms", "CPU in s"):
            table.add_column(column)
    table.add_column("ratio")
    with server(programs) as node, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        node.run("CREATE DATABASE roster")
        own = {"ROSTER_DATABASE_URL": node.url("roster"), "ROSTER_SECRET_KEY": make_key()}
        with (
            listmonk(installation, folder, node) as theirs,
            started(folder / "roster", node.pid, **own) as ours,
        ):
            for name, our_rate, their_rate in measured(ours, theirs):
                ratio = our_rate.per_second / their_rate.per_second
                table.add_row(name, *cells(our_rate), *cells(their_rate), f"{ratio:.2f}")
    Console(highlight=False, width=180).print(table)


if __name__ == "__main__":
    main()
