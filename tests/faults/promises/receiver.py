"""A webhook receiver in its own process, which can be killed and restarted."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Receiver:
    """A receiver that writes each delivery to a file before it accepts it."""

    file: Path
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Starts it, on the same port as before."""
        command = [
            sys.executable,
            "-m",
            "tests.features.webhooks.recording_receiver",
            str(self.port),
            str(self.file),
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def received(self) -> dict[str, list[str]]:
        """Returns the SHA-256 digests of the received bodies by event id."""
        found = defaultdict(list)
        # The last line is incomplete if the receiver was killed while it wrote.
        for line in self.file.read_text().splitlines():
            event_id, _, digest = line.partition(" ")
            if len(digest) == 64:
                found[event_id].append(digest)
        return found
