"""A browser, and a mail server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from ...browser import chromium
from .mailbox import Mailbox, receiving


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium of the system."""
    with chromium() as launched:
        yield launched


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    """A mail server that stores the mail of the test."""
    with receiving() as running:
        yield running
