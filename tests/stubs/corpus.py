"""Messages of every type as bytes and as JSON, which the stubs of every language have to read.

`python -m tests.stubs.corpus` writes corpus.json anew: what is there stays, byte for byte, since
messages like those are stored and sent by programs that nobody can call back; what the protos
have gained comes behind it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from .corpus_messages import CASES, filled, types

FILE = Path(__file__).with_name("corpus.json")


@dataclass(frozen=True)
class Entry:
    """A message: its type, what it shows, its bytes in base64, and its JSON."""

    type: str
    case: str
    binary: str
    json: Any


def make() -> Iterator[Entry]:
    """Makes an entry of every case for every type of roster.v1."""
    for kind in types():
        for case in CASES:
            yield entry(case, filled(kind, case))


def entry(case: str, message: Message) -> Entry:
    """Returns the entry of a message. Enum numbers without a name stay numbers."""
    return Entry(
        message.DESCRIPTOR.full_name,
        case,
        base64.b64encode(message.SerializeToString(deterministic=True)).decode(),
        json_format.MessageToDict(message),
    )


def read() -> list[Entry]:
    """Returns what corpus.json holds."""
    return [Entry(**row) for row in json.loads(FILE.read_text())]


def write(entries: list[Entry]) -> None:
    """Writes corpus.json, an entry a line."""
    lines = (json.dumps(asdict(each), sort_keys=True) for each in entries)
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def main() -> None:
    kept = read() if FILE.exists() else []
    held = {(each.type, each.binary) for each in kept}
    added = []
    for each in make():
        if (each.type, each.binary) not in held:
            held.add((each.type, each.binary))
            added.append(each)
    write(kept + added)
    print(f"{len(kept)} entries stay, {len(added)} are new")


if __name__ == "__main__":
    main()
