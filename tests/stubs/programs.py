"""Programs in several languages that call a running service through the generated stubs.

Each language has a folder with its program `walk` and a module `in_<language>` that builds it. The
program performs STEPS on a service and asserts the results. It reads the address of the service
from ROSTER_GRPC_ADDRESS and a key from ROSTER_API_KEY, prints {"step": NAME} as a line of JSON
after each step, and exits with 0.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent

STEPS = [
    "authenticate",  # a call without a key fails with UNAUTHORIZED, one with the key succeeds
    "create",  # CREATED below, with two tags and isConfirmed; the response has a creation time
    "bulk_create",  # the addresses of BULK and then the first again; only that row fails
    "list_by_page_token",  # all subscribers in pages of 10, each once, in order of creation
    "update_with_mask",  # CREATED: last_name becomes "Lovelace", first_name, not in the mask, stays
    "read_error_details",  # a tag with a blank name: VALIDATION_ERROR in roster, `name` REQUIRED
    "stream_export",  # all subscribers, in order of creation
    "exceed_deadline",  # an import that sends nothing, with a deadline: DEADLINE_EXCEEDED
    "list_events",  # a disabled webhook, then the tag "gold": ListEvents returns its event
]
CREATED = "ada@example.com"
BULK = [f"person{number}@example.com" for number in range(24)]


@dataclass(frozen=True)
class Programs:
    """The commands of the programs of a language, and their environment.

    `example` is that of the documented program, unless the document states how it is run.
    """

    walk: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    example: list[str] = field(default_factory=list)

    def run(self, command: list[str], **settings: str) -> list[str]:
        """Runs a program and returns the lines that it printed.

        Raises AssertionError with its output if the exit code is not 0.
        """
        inherited = {
            name: text for name, text in os.environ.items() if not name.startswith("ROSTER_")
        }
        done = subprocess.run(
            command,
            env={**inherited, **self.environment, **settings},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout.split("\n")[:-1]


def shell(command: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Runs a command in a folder. Raises AssertionError with its output if it fails."""
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
