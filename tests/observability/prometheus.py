"""A real Prometheus that looks at running services, on a port of its own, stopped by its id."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

from ..parts import free_port, wait_until
from ..tools import program

_CONFIGURATION = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - {{job_name: roster, static_configs: [{{targets: [{targets}]}}]}}
"""


class Prometheus:
    """Asked in PromQL."""

    def __init__(self, address: str) -> None:
        self._address = address

    def ask(self, what: str, **parameters: Any) -> Any:
        """Returns what its API answers. Raises HTTPError for a query that it cannot read."""
        url = f"http://{self._address}/api/v1/{what}?{urlencode(parameters)}"
        with urlopen(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def now(self, query: str) -> list[Any]:
        """Returns the series that a query finds at this moment."""
        found: list[Any] = self.ask("query", query=query)["result"]
        return found

    def is_up(self) -> bool:
        """Whether it has looked twice at everything, which rates take."""
        try:
            counts = self.now("count_over_time(up[1m]) >= 2 and up == 1")
            return bool(counts) and len(counts) == len(self.ask("targets")["activeTargets"])
        except URLError:
            return False


@contextmanager
def prometheus(folder: Path, urls: Sequence[str]) -> Iterator[Prometheus]:
    """Runs a Prometheus that looks at these pages every second; skips without the program."""
    path = program("prometheus", "prometheus")
    targets = ", ".join(f'"{urlsplit(url).netloc}"' for url in urls)
    (folder / "prometheus.yml").write_text(_CONFIGURATION.format(targets=targets))
    address = f"127.0.0.1:{free_port()}"
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(
            [
                path,
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'prometheus'}",
                f"--web.listen-address={address}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        running = Prometheus(address)
        wait_until(running.is_up, "Prometheus does not see everything")
        yield running
    finally:
        process.terminate()
        process.wait(timeout=20)
