"""What the gateway tells of events is what the stores make."""

from __future__ import annotations

from . import payloads


def test_file_is_what_the_code_makes() -> None:
    assert payloads.FILE.read_bytes() == payloads.made(), "run python -m tests.webhooks.payloads"
