"""What a service that is ready says: to people, or to the process that looks after it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version

from ..console import console

_GRACE = '{"email": "grace@example.com", "firstName": "Grace", "tags": ["first"]}'


@dataclass(frozen=True)
class Ready:
    """Where a service is; each is empty where the service has no such thing.

    `first_key` is that of the first account, where this start has made it.
    """

    http: str = ""
    grpc: str = ""
    upstream: str = ""
    database: str = ""
    first_key: str = ""
    metrics: str = ""


def report(ready: Ready) -> None:
    """Says where the service is to the process that looks after this one, in a line."""
    print(json.dumps(asdict(ready)), flush=True)


def read_report(line: bytes) -> Ready:
    """Returns what a process reported."""
    return Ready(**json.loads(line))


def announce(ready: Ready, workers: int = 1) -> None:
    """Says where the service is, and how to try it, to people."""
    several = f" in {workers} processes" if workers > 1 else ""
    places = (
        ("HTTP", ready.http),
        ("gRPC", ready.grpc),
        ("upstream", ready.upstream),
        ("database", ready.database),
        ("metrics", ready.metrics),
        ("reference", f"{ready.http}/docs" if ready.http else ""),
    )
    lines = [
        f"Roster {version('roster')} is serving{several}.",
        "",
        *(f"  {name:<9} {place}" for name, place in places if place),
        "",
    ]
    if ready.first_key:
        lines += [
            "The database is new. This is the API key of its first account; it is not shown again:",
            "",
            f"  {ready.first_key}",
            "",
        ]
    elif ready.http:
        lines += ["Put a key of an account into ROSTER_API_KEY to try it:", ""]
    if ready.http:
        lines += _examples(ready.http, ready.first_key or "$ROSTER_API_KEY")
    console.print("\n".join(lines), soft_wrap=True)


def _examples(base: str, key: str) -> list[str]:
    return [
        f'  curl {base}/api/subscribers -H "Authorization: Bearer {key}" \\',
        f"    -H 'Content-Type: application/json' -d '{_GRACE}'",
        "",
        f'  curl {base}/api/subscribers -H "Authorization: Bearer {key}"',
        "",
    ]
