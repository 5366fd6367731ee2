"""`make bench`: what Roster costs, as ratios within one run.

Machines differ and are shared, so no figure stands alone: each is measured in
turns with what it is compared to, and the median of the ratios is given. The
service runs with its default settings, one process, at 32 connections.
"""

from __future__ import annotations

import base64
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import apsw
from rich.console import Console
from rich.table import Table

from ..processes import Service, start
from . import codec

CONNECTIONS = 32
SECONDS = 2.0
ROUNDS = 5
SUBSCRIBERS = 1_000

# What each figure is to reach: a ratio of at least this, or no more than this.
AT_LEAST = {
    "get_by_id": 0.45,
    "page_of_20": 0.30,
    "create": 0.25,
    "bulk_of_100": 0.40,
    "import": 0.50,
}
AT_LEAST |= dict.fromkeys(codec.NAMES, 8.0)
AT_MOST = {"idle_memory_mib": 120.0, "seconds_to_ready": 2.0, "export_memory_mib": 30.0}
# Rows of one import that is timed, and of the export whose memory is watched.
IMPORTED = 60_000
EXPORTED = 1_000_000

_numbers = count()
_imported = count()


def row() -> dict[str, Any]:
    """Returns a subscriber as a client sends it; every one has another address."""
    return {
        "email": f"person{next(_numbers)}@example.com",
        "firstName": "Ada",
        "lastName": "Lovelace",
        "isConfirmed": True,
        "tags": ["newsletter"],
    }


def request(method: str, path: str, key: str, body: Any = None) -> bytes:
    """Returns a whole HTTP request."""
    text = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n"
    return f"{head}\r\n".encode() + text


def load(address: str, requests: list[bytes]) -> float:
    """Sends the requests for two seconds and returns the answers a second."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.bench.load", address, str(CONNECTIONS), str(SECONDS)],
        input=json.dumps([base64.b64encode(item).decode() for item in requests]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=10 * SECONDS,
    )
    result = json.loads(run.stdout)
    if result["failures"]:
        raise SystemExit(f"{result['failures']} of {result['answers']} answers were no success")
    return float(result["answers"] / result["seconds"])


def send(address: str, method: str, path: str, body: Any, key: str = "") -> bytes:
    """Sends one request and returns the body of the answer."""
    connection = http.client.HTTPConnection(address)
    text = body if isinstance(body, bytes) else json.dumps(body)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request(method, path, body=text, headers=headers)
    answer = connection.getresponse().read()
    connection.close()
    return answer


@contextmanager
def bare_aiohttp() -> Iterator[str]:
    """Runs the bare server and yields its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.bare"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield f"127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def in_turns(ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float, float]:
    """Measures both in turns and returns the medians of both and of the ratios."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(ROUNDS)]
    ratio = statistics.median(mine / other for mine, other in pairs)
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs), ratio


def raw_apsw(database: Path) -> float:
    """Inserts the rows of bulks into a copy of the schema and returns rows a second."""
    copy = database.with_name(f"raw{next(_numbers)}.db")
    source = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    connection = apsw.Connection(str(copy))
    connection.execute("PRAGMA journal_mode = wal; PRAGMA synchronous = full")
    connection.execute("PRAGMA foreign_keys = on")
    for (sql,) in source.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"):
        if "sqlite_" not in sql:
            connection.execute(sql)
    source.close()
    connection.execute(
        "INSERT INTO tag VALUES (?, ?, 'newsletter', 'newsletter', '', 0)", ("A" * 26, "T" * 26)
    )
    rows, started = 0, time.perf_counter()
    while time.perf_counter() - started < SECONDS:
        _raw_bulk(connection)
        rows += 100
    elapsed = time.perf_counter() - started
    connection.close()
    for file in copy.parent.glob(f"{copy.name}*"):
        file.unlink()
    return rows / elapsed


def _raw_bulk(connection: apsw.Connection) -> None:
    people, links = [], []
    for _ in range(100):
        number = next(_numbers)
        person, email = f"01M7Y2MPAQ{number:016}", f"person{number}@example.com"
        names = ("Ada", "Lovelace", 2, 1_700_000_000_000, "ada lovelace", "lovelace")
        people.append(("A" * 26, person, email, email, *names))
        links.append(("A" * 26, person, "T" * 26))
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO subscriber VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", people)
    connection.executemany("INSERT INTO subscriber_tag VALUES (?, ?, ?)", links)
    connection.execute("COMMIT")


def memory_mib(process: int) -> float:
    """Returns the resident memory of a process."""
    output = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(process)], stdout=subprocess.PIPE, text=True, check=True
    )
    return int(output.stdout) / 1024


def seconds_to_ready(folder: Path) -> tuple[float, float]:
    """Starts the service a few times; returns the median seconds to ready, and idle memory."""
    times, memory = [], 0.0
    for _ in range(3):
        started = time.perf_counter()
        service = start(folder)
        times.append(time.perf_counter() - started)
        memory = memory_mib(service.process.pid)
        service.stop()
    return statistics.median(times), memory


def measure(service: Service, bare: str) -> Iterator[tuple[str, float, float, float, str]]:
    """Yields name, our figure, the other figure, their ratio and the unit of each comparison."""
    key = service.first_key
    for _ in range(SUBSCRIBERS // 100):
        rows = {"subscribers": [row() for _ in range(100)]}
        send(service.http, "POST", "/api/subscribers/bulk", rows, key)
    page = send(service.http, "GET", "/api/subscribers", b"", key)
    subscriber = json.loads(page)["subscribers"][7]
    many = 100_000

    def compare(path: str, answer: bytes) -> tuple[float, float, float]:
        send(bare, "PUT", "/answer", answer)
        requests = [request("GET", path, key)] * many
        return in_turns(lambda: load(service.http, requests), lambda: load(bare, requests))

    path = f"/api/subscribers/{subscriber['id']}"
    single = send(service.http, "GET", path, b"", key)
    yield ("get_by_id", *compare(path, single), "requests/s")
    yield ("page_of_20", *compare("/api/subscribers", page), "requests/s")

    def creates() -> list[bytes]:
        return [request("POST", "/api/subscribers", key, row()) for _ in range(20_000)]

    send(bare, "PUT", "/answer", single)
    yield (
        "create",
        *in_turns(lambda: load(service.http, creates()), lambda: load(bare, creates())),
        "requests/s",
    )

    def bulks() -> list[bytes]:
        path = "/api/subscribers/bulk"
        return [
            request("POST", path, key, {"subscribers": [row() for _ in range(100)]})
            for _ in range(1_000)
        ]

    yield (
        "bulk_of_100",
        *in_turns(lambda: 100 * load(service.http, bulks()), lambda: raw_apsw(service.database)),
        "rows/s",
    )
    yield (
        "import",
        *in_turns(lambda: import_rows(service, key), lambda: raw_apsw(service.database)),
        "rows/s",
    )


def stream(what: str, service: Service, key: str, *more: str) -> subprocess.Popen[str]:
    """Starts the client of the streams."""
    command = [sys.executable, "-m", "tests.bench.streams", what, service.http, key, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def outcome(client: subprocess.Popen[str]) -> dict[str, float]:
    """Returns what a client of the streams printed. Ends the program if anything failed."""
    printed, _ = client.communicate(timeout=600)
    told: dict[str, float] = json.loads(printed)
    if client.returncode or told["failures"]:
        raise SystemExit(f"a stream failed: {told}")
    return told


def import_rows(service: Service, key: str, count: int = IMPORTED) -> float:
    """Imports new rows over HTTP and returns rows a second."""
    first = next(_imported) * EXPORTED
    told = outcome(stream("import", service, key, str(count), str(first)))
    return told["lines"] / told["seconds"]


def export_memory_mib(service: Service, key: str) -> float:
    """Returns by how much an export of a million subscribers makes the service grow."""
    import_rows(service, key, EXPORTED)
    before = memory_mib(service.process.pid)
    client, most = stream("export", service, key), before
    while client.poll() is None:
        most = max(most, memory_mib(service.process.pid))
        time.sleep(0.05)
    if outcome(client)["lines"] < EXPORTED:
        raise SystemExit("an export ended early")
    return most - before


def main() -> None:
    console = Console(highlight=False)
    table = Table("figure", "Roster", "compared to", "ratio", "to reach", box=None)
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        (Path(folder) / "ready").mkdir()
        ready, memory = seconds_to_ready(Path(folder) / "ready")
        service = start(Path(folder))
        try:
            with bare_aiohttp() as bare:
                for name, ours, theirs, ratio, unit in measure(service, bare):
                    results[name] = round(ratio, 3)
                    other = "raw apsw" if unit == "rows/s" else "bare aiohttp"
                    table.add_row(
                        name,
                        f"{ours:,.0f} {unit}",
                        f"{other} {theirs:,.0f}",
                        f"{ratio:.2f}",
                        f"{AT_LEAST[name]:.2f} or more",
                    )
            exported = export_memory_mib(service, service.first_key)
        finally:
            service.stop()
    for name, ours, theirs, ratio in codec.ratios(row):
        results[name] = round(ratio, 2)
        table.add_row(
            name,
            f"{ours:,.0f} messages/s",
            f"json_format {theirs:,.0f}",
            f"{ratio:.2f}",
            f"{AT_LEAST[name]:.2f} or more",
        )
    results |= {"export_memory_mib": round(exported, 1)}
    results |= {"idle_memory_mib": round(memory, 1), "seconds_to_ready": round(ready, 2)}
    for name, bound in AT_MOST.items():
        table.add_row(name, f"{results[name]}", "", "", f"{bound:g} or less")
    console.print(table)
    Path("bench.json").write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
