"""Tests the error texts of attempts, and Retry-After headers."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import pytest

from rosterd.server.features.webhooks.egress.outcome import (
    error_for_exception,
    error_for_status,
    retry_after,
)

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (200, ""),
        (299, ""),
        (300, "redirected"),
        (399, "redirected"),
        (101, "HTTP 101"),
        (400, "HTTP 400"),
    ],
)
def test_only_2xx_is_a_success(status: int, error: str) -> None:
    assert error_for_status(status) == error


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        ("0", 0),
        ("9" * 100, 1e100),
        ("Sat, 21 Nov 2026 12:02:00 GMT", 120),
        ("Sat, 21 Nov 2026 13:02:00 +0100", 120),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0),
        (None, None),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("١٢", None),
        ("soon", None),
        ("9" * 8000, None),
        ("Sat, 99 Nov 2026 12:02:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str | None, seconds: float | None) -> None:
    assert retry_after(text, NOW) == seconds


def test_unexpected_error_is_logged_without_data_of_the_receiver(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        assert error_for_exception(LookupError("text of the receiver")) == "failed"

    (record,) = caplog.records
    assert vars(record)["exception"].endswith("LookupError")
    assert "text of the receiver" not in str(vars(record))
