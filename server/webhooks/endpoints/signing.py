"""The secrets of webhooks, and what is signed with them, as Standard Webhooks has it.

A secret is 32 random bytes, shown as whsec_ and base64, and kept sealed for its webhook.
After a rotation the one before signs along for a while: the header then holds both
signatures, and a receiver that knows either is content.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from datetime import UTC, datetime

from standardwebhooks import Webhook

from ...encryption import Encryption

SECRET_BYTES = 32
_PREFIX = "whsec_"
_PURPOSE = "webhook secret"


def make_secret() -> str:
    """Returns a fresh secret."""
    return _PREFIX + base64.b64encode(os.urandom(SECRET_BYTES)).decode()


class Secrets:
    """Seals the secrets of webhooks, and opens them."""

    def __init__(self, encryption: Encryption) -> None:
        self._encryption = encryption

    def encrypt(self, account_id: str, webhook_id: str, secret: str) -> bytes:
        """Returns a secret as it is stored."""
        return self._encryption.encrypt(_PURPOSE, secret.encode(), account_id, webhook_id)

    def open(self, account_id: str, webhook_id: str, encrypted: bytes) -> str:
        """Returns a secret that was sealed for the webhook. Raises DecryptionError."""
        return self._encryption.open(_PURPOSE, bytes(encrypted), account_id, webhook_id).decode()


def sign(event_id: str, milliseconds: int, envelope: str, secrets: Sequence[str]) -> dict[str, str]:
    """Returns the headers of a delivery that is sent at a moment, a signature for each secret."""
    seconds = milliseconds // 1000
    moment = datetime.fromtimestamp(seconds, UTC)
    signatures = [Webhook(secret).sign(event_id, moment, envelope) for secret in secrets]
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(signatures),
    }
