"""Validates the consent in a row."""

from __future__ import annotations

from ipaddress import ip_address

from ...values.texts import cached_if_short, has_control_characters

MAX_CONSENT_SOURCE = 200


def is_valid_source(text: str) -> bool:
    return len(text) <= MAX_CONSENT_SOURCE and not has_control_characters(text, multiline=False)


@cached_if_short
def is_valid_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    # The zone of an IPv6 address can be any text.
    return "%" not in text
