"""One attempt: a delivery that was taken on is signed and sent, and what came of it is told."""

from __future__ import annotations

import logging
import random
import unicodedata
from collections.abc import Callable

from ...clock import Clock
from ...encryption import DecryptionError
from ..egress.client import Client
from ..egress.outcome import FAILED, Outcome
from ..endpoints.signing import Secrets, sign
from .store_leases import LeasedDelivery
from .store_results import FinishedAttempt

log = logging.getLogger(__name__)


class Sender:
    """Sends deliveries; `chance` gives numbers from 0 to 1."""

    def __init__(
        self,
        client: Client,
        secrets: Secrets,
        clock: Clock,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._secrets = secrets
        self._clock = clock
        self._chance = chance

    async def send(self, account_id: str, leased: LeasedDelivery) -> FinishedAttempt:
        """Sends a delivery once and returns how that ended, whatever the receiver does."""
        delivery, started_at = leased.delivery, self._clock()
        outcome = await self._post(account_id, leased, started_at)
        log.info(
            "delivery",
            extra={
                "account": account_id,
                "webhook": delivery.webhook_id,
                "delivery": delivery.id,
                "event": delivery.event_id,
                "attempt": delivery.attempts + 1,
                "status": outcome.status,
                "error": outcome.error,
                "milliseconds": outcome.milliseconds,
            },
        )
        return FinishedAttempt(
            delivery,
            started_at,
            outcome.milliseconds,
            outcome.status,
            outcome.error,
            escape_response(outcome.body),
            outcome.retry_after,
            self._chance(),
            None if leased.is_test else leased.webhook.url,
        )

    async def _post(self, account_id: str, leased: LeasedDelivery, now: int) -> Outcome:
        webhook = leased.webhook
        try:
            secrets = [
                self._secrets.open(account_id, webhook.id, encrypted)
                for encrypted in webhook.secrets_at(now)
            ]
        except DecryptionError:
            log.critical("the secret of webhook %s cannot be opened", webhook.id)
            return Outcome(None, FAILED, None, 0, b"")
        headers = sign(leased.delivery.event_id, now, leased.envelope, secrets)
        return await self._client.post(webhook.url, leased.envelope.encode(), headers)


def escape_response(answer: bytes) -> str:
    """Returns the beginning of an answer as text; what is none in it is written as escapes.

    So is what a terminal would obey, and what turns the direction of writing.
    """
    text = answer.decode("utf-8", "backslashreplace")
    return "".join(letter if _is_plain(letter) else _escape(letter) for letter in text)


def _is_plain(letter: str) -> bool:
    return letter in "\n\t\r" or unicodedata.category(letter) not in ("Cc", "Cf")


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode()
