"""Runs a Prometheus server that scrapes services."""

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

from ..components import free_port, wait_until
from ..tools import program

_CONFIGURATION = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - {{job_name: roster, static_configs: [{{targets: [{targets}]}}]}}
"""


class Prometheus:
    """A client of the Prometheus API."""

    def __init__(self, address: str) -> None:
        self._address = address

    def _get(self, path: str, **parameters: Any) -> Any:
        """Returns the data of a response. Raises HTTPError for an invalid query."""
        url = f"http://{self._address}/api/v1/{path}?{urlencode(parameters)}"
        with urlopen(url, timeout=20) as response:
            return json.load(response)["data"]

    def query(self, promql: str) -> list[Any]:
        """Returns the current series of a query."""
        series: list[Any] = self._get("query", query=promql)["result"]
        return series

    def has_scraped_twice(self) -> bool:
        """Whether every target was scraped twice, which rates require."""
        try:
            counts = self.query("count_over_time(up[1m]) >= 2 and up == 1")
            return bool(counts) and len(counts) == len(self._get("targets")["activeTargets"])
        except URLError:
            return False


@contextmanager
def prometheus(folder: Path, urls: Sequence[str]) -> Iterator[Prometheus]:
    """Runs a Prometheus that scrapes these URLs every second. Needs the program."""
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
        wait_until(running.has_scraped_twice, "Prometheus has not scraped every target")
        yield running
    finally:
        process.terminate()
        process.wait(timeout=60)
