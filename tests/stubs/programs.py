"""Programs in several languages that talk to a running service through the generated stubs.

Each language keeps its programs in the folder of its name and has a module `in_<language>`
beside this one, which makes them ready and says how they are started. There are four:

    walk      takes the steps of STEPS against a service, as a user of the stubs would, and
              asserts everything itself. It finds the service in ROSTER_GRPC_ADDRESS and a key
              in ROSTER_KEY, prints {"step": NAME} as a line of JSON after each step, and ends
              with 0.
    corpus    reads the corpus at the path in its first argument. For each entry, in order, it
              decodes the message and prints a line of JSON: {"binary": what it encodes the
              message to again, in base64, "json": the message in ProtoJSON}.
    large     lists a page of 100 subscribers and exports all, by a gRPC client with default
              settings, and prints a line of JSON: {"listed": NUMBER, "exported": NUMBER}.
    example   is the documented example, unchanged. It finds what `walk` finds, creates
              a subscriber whose address no other language takes, and prints its id, as text.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..documents import CLIENTS, ROOT, code

FOLDER = Path(__file__).parent

STEPS = [
    "authenticate",  # a call without a key fails as UNAUTHORIZED, one with the key is answered
    "create",  # CREATED below, with two tags and isConfirmed; the answer has a creation time
    "bulk_create",  # the addresses of BULK and then the first again, which alone fails
    "list_by_page_token",  # all of them by pages of 10, each once, in order of creation
    "update_with_mask",  # CREATED: last_name becomes "Lovelace", first_name, not in the mask, stays
    "read_error_details",  # a tag with a blank name: VALIDATION_ERROR in roster, `name` REQUIRED
    "stream_export",  # all of them, in order of creation
    "honour_deadline",  # an import that sends nothing, with a deadline: DEADLINE_EXCEEDED
    "hear_of_events",  # a disabled webhook, then the tag "heard": the one event of tags says so
]
CREATED = "ada@example.com"
BULK = [f"person{number}@example.com" for number in range(24)]


@dataclass(frozen=True)
class Programs:
    """The programs of a language, ready to be started: their commands, and what they find.

    `example` takes the text of a documented example and gives its command.
    """

    walk: list[str]
    corpus: list[str]
    large: list[str]
    example: Callable[[str], list[str]]
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, command: list[str], **settings: str) -> list[str]:
        """Runs a program and returns the lines that it printed.

        Raises AssertionError with what it said if it does not end with 0.
        """
        known = {name: text for name, text in os.environ.items() if not name.startswith("ROSTER_")}
        done = subprocess.run(
            command,
            env={**known, **self.environment, **settings},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout.split("\n")[:-1]


def shell(command: str, where: Path, environment: Mapping[str, str]) -> None:
    """Runs a command in a folder. Raises AssertionError with what it said if it fails."""
    done = subprocess.run(
        command,
        shell=True,
        cwd=where,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def documented_commands(mark: str) -> str:
    """Returns the documented commands for the clients, with the path of this checkout."""
    return code(CLIENTS, mark).replace("../roster", str(ROOT))
