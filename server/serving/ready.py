"""Reports that a process serves: to people, or to its supervisor."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version

from ..config import API_KEY
from .console import console

_GRACE = '{"email": "grace@example.com", "firstName": "Grace", "tags": ["first"]}'


@dataclass(frozen=True)
class Ready:
    """The addresses of a service; empty if it has none.

    `first_key` is the API key of the first account, if this start created it.
    """

    http: str = ""
    grpc: str = ""
    upstream: str = ""
    database: str = ""
    first_key: str = ""
    metrics: str = ""


def report(ready: Ready) -> None:
    """Reports to the supervisor, in one line on standard output."""
    print(json.dumps(asdict(ready)), flush=True)


def read_report(line: bytes) -> Ready:
    return Ready(**json.loads(line))


def announce(ready: Ready, workers: int = 1) -> None:
    """Prints the addresses of the service and how to try it."""
    if not ready.http and not ready.grpc:
        metrics = f" Metrics: {ready.metrics}" if ready.metrics else ""
        console.print(f"The worker processes {ready.database}.{metrics}", soft_wrap=True)
        return
    suffix = f" in {workers} processes" if workers > 1 else ""
    addresses = (
        ("HTTP", ready.http),
        ("gRPC", ready.grpc),
        ("upstream", ready.upstream),
        ("database", ready.database),
        ("metrics", ready.metrics),
        ("reference", f"{ready.http}/docs" if ready.http else ""),
    )
    lines = [
        f"Roster {version('roster')} is serving{suffix}.",
        "",
        *(f"  {name:<9} {address}" for name, address in addresses if address),
        "",
    ]
    if ready.first_key:
        lines += [
            "The database is new. API key of its first account, which is not shown again:",
            "",
            f"  {ready.first_key}",
            "",
        ]
    elif ready.http:
        lines += [f"Set {API_KEY} to an API key and try:", ""]
    if ready.http:
        lines += _examples(ready.http, ready.first_key or f"${API_KEY}")
    console.print("\n".join(lines), soft_wrap=True)


def _examples(base: str, key: str) -> list[str]:
    return [
        f'  curl {base}/api/subscribers -H "Authorization: Bearer {key}" \\',
        f"    -H 'Content-Type: application/json' -d '{_GRACE}'",
        "",
        f'  curl {base}/api/subscribers -H "Authorization: Bearer {key}"',
        "",
    ]
