"""The console as the service sends it: its headers, and what they permit."""

from __future__ import annotations

import json
import re
from pathlib import Path

from rosterd import server

from ..fronts import HttpFront
from ..processes import Service

BUILT = Path(server.__file__).parent / "console" / "built"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)


def test_start_page_has_the_policy_and_loads_only_built_assets(service: Service) -> None:
    front = HttpFront("http", service.http)

    status, headers, body = front.exchange("GET", "/console/subscribers/7?status=CONFIRMED")

    assert status == 200
    assert headers["content-security-policy"] == POLICY
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert set(re.findall(r"=(\S+?)(?:, |$)", headers["permissions-policy"])) == {"()"}
    assert headers["cache-control"] == "no-store"
    urls = re.findall('(?:src|href)="(.*?)"', body.decode())
    assert {url.rpartition(".")[2] for url in urls} == {"css", "js", "svg"}
    for url in urls:
        assert (BUILT / url.removeprefix("/console/")).is_file()
        assert front.exchange("GET", url)[0] == 200


def test_build_is_within_its_budget() -> None:
    sizes = json.loads((BUILT / "manifest.json").read_text())["sizes"]

    assert sizes["scripts"] <= 70_000
    assert sizes["later"] <= 33_000
    assert sizes["styles"] <= 10_000
    assert sizes["texts"] <= 12_500
