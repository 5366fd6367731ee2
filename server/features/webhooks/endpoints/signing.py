"""Creates and encrypts the secrets of webhooks, and signs requests as Standard Webhooks specifies.

A secret is 32 random bytes, written as whsec_ and base64, and encrypted at rest. After a
rotation the previous secret signs too: the header then has both signatures, and a receiver
can verify either.
"""

from __future__ import annotations

import base64
import hmac
import os
from collections.abc import Sequence

from ....security.encryption import Encryption

SECRET_BYTES = 32
SIGNATURE = "webhook-signature"
_PREFIX = "whsec_"
_PURPOSE = "webhook secret"


def make_secret() -> str:
    return _PREFIX + base64.b64encode(os.urandom(SECRET_BYTES)).decode()


class Secrets:
    """Encrypts and decrypts the secrets of webhooks."""

    def __init__(self, encryption: Encryption) -> None:
        self._encryption = encryption

    def encrypt(self, account_id: str, webhook_id: str, secret: str) -> bytes:
        return self._encryption.encrypt(_PURPOSE, secret.encode(), account_id, webhook_id)

    def open(self, account_id: str, webhook_id: str, encrypted: bytes) -> str:
        """Returns a secret that was encrypted for the webhook. Raises DecryptionError."""
        return self._encryption.open(_PURPOSE, bytes(encrypted), account_id, webhook_id).decode()


def sign(event_id: str, milliseconds: int, envelope: str, secrets: Sequence[str]) -> dict[str, str]:
    """Returns the headers of a request, with one signature for each secret."""
    headers = signed_headers(event_id, milliseconds)
    signed = ".".join((*headers.values(), envelope)).encode()
    keys = [base64.b64decode(secret.removeprefix(_PREFIX)) for secret in secrets]
    digests = [base64.b64encode(hmac.digest(key, signed, "sha256")).decode() for key in keys]
    return {**headers, SIGNATURE: " ".join(f"v1,{digest}" for digest in digests)}


def signed_headers(event_id: str, milliseconds: int) -> dict[str, str]:
    """Returns the headers of a request that its signature includes."""
    return {"webhook-id": event_id, "webhook-timestamp": str(milliseconds // 1000)}
