"""Validates the consent in a row."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address

from ...texts import has_control_characters

MAX_CONSENT_SOURCE = 200


def is_valid_source(text: str) -> bool:
    return len(text) <= MAX_CONSENT_SOURCE and not has_control_characters(text, multiline=False)


@lru_cache(4096)
def is_valid_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
