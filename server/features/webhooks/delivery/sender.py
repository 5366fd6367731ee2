"""Makes one attempt: signs and sends a leased delivery, and returns the result."""

from __future__ import annotations

import logging
import random
import unicodedata
from collections.abc import Callable, Mapping

import orjson

from ....security.encryption import DecryptionError
from ....values.clock import Clock
from ....values.sampling import Sampling
from ..egress.client import HEADERS, Client
from ..egress.outcome import FAILED, TIMED_OUT, Outcome
from ..egress.resolver import LookupNotStarted
from ..endpoints.signing import SIGNATURE, Secrets, sign
from .store_leases import Lease, LeasedDelivery
from .store_results import FinishedAttempt

log = logging.getLogger(__name__)

# The headers that differ between attempts, or between versions of the service.
_STORED = ("User-Agent", SIGNATURE)


class Sender:
    """Sends deliveries; `rng` returns numbers from 0 to 1 for the jitter of retries.

    One in `log_sampling` of the deliveries that succeed is logged; 0: none.
    """

    def __init__(
        self,
        client: Client,
        secrets: Secrets,
        clock: Clock,
        *,
        rng: Callable[[], float] = random.random,
        log_sampling: int = 1,
    ) -> None:
        self._client = client
        self._secrets = secrets
        self._clock = clock
        self._rng = rng
        self._sampling = Sampling(log_sampling)

    async def send(self, account_id: str, leased: LeasedDelivery) -> FinishedAttempt:
        """Sends a delivery once and returns the result. Failures of the receiver do not raise.

        Raises LookupNotStarted if no attempt was made, which a test delivery counts as a timeout.
        """
        delivery, started_at = leased.delivery, self._clock()
        headers = self._headers(account_id, leased, started_at)
        outcome = await self._post(leased, headers)
        if outcome.error or self._sampling.selects_next():
            _log(account_id, delivery, outcome)
        return FinishedAttempt(
            delivery,
            started_at,
            outcome.milliseconds,
            outcome.status,
            outcome.error,
            escape_body(outcome.body),
            outcome.retry_after,
            self._rng(),
            None if leased.is_test else leased.webhook.url,
            _stored(headers),
        )

    def _headers(self, account_id: str, leased: LeasedDelivery, now: int) -> dict[str, str]:
        """Returns the headers of a request, or none if it cannot be signed."""
        webhook = leased.webhook
        try:
            secrets = [
                self._secrets.open(account_id, webhook.id, encrypted)
                for encrypted in webhook.secrets_at(now)
            ]
        except DecryptionError:
            about = {"accountId": account_id, "webhookId": webhook.id}
            log.critical("secret of a webhook cannot be decrypted", extra=about)
            return {}
        return HEADERS | sign(leased.delivery.event_id, now, leased.envelope, secrets)

    async def _post(self, leased: LeasedDelivery, headers: dict[str, str]) -> Outcome:
        if not headers:
            return Outcome(None, FAILED, None, 0, b"")
        try:
            return await self._client.post(leased.webhook.url, leased.envelope.encode(), headers)
        except LookupNotStarted:
            if not leased.is_test:
                raise
            return Outcome(None, TIMED_OUT, None, 0, b"")


def _stored(headers: Mapping[str, str]) -> str:
    """Returns the JSON of the headers that do not follow from the attempt; empty without any."""
    return orjson.dumps({name: headers[name] for name in _STORED}).decode() if headers else ""


def _log(account_id: str, delivery: Lease, outcome: Outcome) -> None:
    log.info(
        "delivery",
        extra={
            "accountId": account_id,
            "webhookId": delivery.webhook_id,
            "deliveryId": delivery.id,
            "eventId": delivery.event_id,
            "attempt": delivery.attempts + 1,
            "status": outcome.status,
            "error": outcome.error,
            "durationMs": outcome.milliseconds,
        },
    )


def escape_body(body: bytes) -> str:
    """Returns the text of a body. Invalid UTF-8, control and format characters are escaped."""
    text = body.decode("utf-8", "backslashreplace")
    return "".join(character if _is_plain(character) else _escape(character) for character in text)


def _is_plain(character: str) -> bool:
    return character in "\n\t\r" or unicodedata.category(character) not in ("Cc", "Cf")


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
