"""Messages of every type, in binary and as JSON, that the stubs of every language must read.

`python -m tests.stubs.corpus` adds messages for new types and fields to corpus.json. Existing
entries never change, because released programs store and send such messages.
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
    """A message: its type, its case, its bytes in base64, and its JSON."""

    type: str
    case: str
    binary: str
    json: Any


def entries() -> Iterator[Entry]:
    """Yields an entry for each type of roster.v1 and each case."""
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
    return [Entry(**row) for row in json.loads(FILE.read_text())]


def write(new: list[Entry]) -> None:
    """Writes corpus.json, one entry per line."""
    lines = (json.dumps(asdict(item), sort_keys=True) for item in new)
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def main() -> None:
    existing = read() if FILE.exists() else []
    known = {(item.type, item.binary) for item in existing}
    added = []
    for entry in entries():
        if (entry.type, entry.binary) not in known:
            known.add((entry.type, entry.binary))
            added.append(entry)
    write(existing + added)
    print(f"{len(existing)} entries unchanged, {len(added)} added")


if __name__ == "__main__":
    main()
