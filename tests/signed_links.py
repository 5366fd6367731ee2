"""A frozen copy of the tokens of links as earlier versions issued them, signed with a MAC."""

from __future__ import annotations

import hmac


def signed_token(
    data_key: bytes, account_id: str, subscriber_id: str, email_key: str, expiry: str = ""
) -> str:
    """Returns a token that unsubscribes, or one that confirms until an expiry.

    The expiry is the first ten characters of an ID of its time.
    """
    signed = f"{'c' if expiry else 'u'}{account_id}{subscriber_id}{expiry}"
    key = hmac.digest(data_key, b"link", "sha256")
    mac = hmac.digest(key, f"{signed}\0{email_key}".encode(), "sha256").hex()
    return f"{signed}{mac[:32]}"
