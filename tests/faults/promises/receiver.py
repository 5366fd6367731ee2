"""A receiver of webhooks in a process of its own, which can be killed and comes back."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Receiver:
    """A receiver that keeps what it gets in a file before it takes it."""

    file: Path
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Starts it, where it was before if it was killed."""
        command = [sys.executable, "-m", "tests.webhooks.keeping", str(self.port), str(self.file)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def received(self) -> dict[str, list[str]]:
        """Returns the digests of the bodies that came with each event's id."""
        found = defaultdict(list)
        # The last line is half written where the receiver was killed in the midst of it.
        for line in self.file.read_text().splitlines():
            event_id, _, digest = line.partition(" ")
            if len(digest) == 64:
                found[event_id].append(digest)
        return found
