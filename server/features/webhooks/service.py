"""WebhookService."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from roster.v1 import webhooks_pb2 as pb
from roster.v1.webhooks_pb2_grpc import WebhookServiceServicer

from ...rpc.caller import account_id, current
from ...rpc.errors import WebhookNotFound, invalid
from ...rpc.etags import Conditional, check_change, with_etag
from ...rpc.idempotency.idempotent_database import IdempotentDatabase
from ...rpc.messages import Context, changed_fields, check_page, created_range
from ...rpc.paging import page_in, token_of
from ...storage.transaction import Transaction
from ...values.clock import Clock
from ...values.ids import checked_id
from ..accounts.rules import WRITE, allows
from ..events import store_reading as events
from . import messages, store, store_health
from .delivery import store_test_deliveries
from .delivery.sender import Sender
from .delivery.store_leases import LeasedDelivery
from .egress.client import Client
from .egress.policy import EgressPolicy
from .egress.urls import check_url
from .endpoints import store_reading
from .endpoints.signing import Secrets, make_secret
from .rules import check_event_types, check_filter
from .service_deliveries import DeliveryMethods

Result = TypeVar("Result")


class WebhookService(DeliveryMethods, WebhookServiceServicer):
    """Manages the webhooks of the caller's account, and returns their events and deliveries."""

    def __init__(
        self,
        database: IdempotentDatabase,
        secrets: Secrets,
        client: Client,
        egress_policy: EgressPolicy,
        clock: Clock,
        notify: Callable[[Collection[str]], None],
    ) -> None:
        super().__init__(database, notify)
        self._secrets = secrets
        self._egress_policy = egress_policy
        self._sender = Sender(client, secrets, clock)

    async def CreateWebhook(
        self, request: pb.CreateWebhookRequest, _context: Context
    ) -> pb.CreateWebhookResponse:
        account, secret = account_id(), make_secret()
        new = store.NewWebhook(
            url=check_url(request.url, self._egress_policy),
            description=request.description,
            event_types=tuple(check_event_types(list(request.event_types))),
            enabled=request.enabled if request.HasField("enabled") else True,
        )

        def create(tx: Transaction) -> pb.CreateWebhookResponse:
            row = store.create(account, new, self._encrypting(account, secret), tx)
            reply = pb.CreateWebhookResponse(webhook=messages.webhook(row), secret=secret)
            return with_etag(reply, row.secret)

        return await self._database.write(create)

    async def GetWebhook(
        self, request: pb.GetWebhookRequest, _context: Context
    ) -> pb.GetWebhookResponse:
        account, webhook_id = account_id(), checked_id(request.id, WebhookNotFound)
        row = await self._database.read(lambda tx: store_reading.find(account, webhook_id, tx))
        return with_etag(pb.GetWebhookResponse(webhook=messages.webhook(row)), row.secret)

    async def ListWebhooks(
        self, request: pb.ListWebhooksRequest, _context: Context
    ) -> pb.ListWebhooksResponse:
        account, page = account_id(), page_in("webhooks", request)
        read = partial(store_reading.page, account, page)
        rows, total, following = await self._database.read(read)
        return pb.ListWebhooksResponse(
            webhooks=map(messages.webhook, rows),
            total=total,
            page=page.number,
            limit=page.limit,
            next_page_token=token_of(following),
        )

    async def GetWebhookHealth(
        self, request: pb.GetWebhookHealthRequest, _context: Context
    ) -> pb.GetWebhookHealthResponse:
        account, webhook_id = account_id(), checked_id(request.id, WebhookNotFound)
        report = await self._database.read(partial(store_health.health, account, webhook_id))
        return pb.GetWebhookHealthResponse(health=messages.health(report))

    async def UpdateWebhook(
        self, request: pb.UpdateWebhookRequest, _context: Context
    ) -> pb.UpdateWebhookResponse:
        account, changes = account_id(), self._changes(request)
        webhook_id = checked_id(request.id, WebhookNotFound)

        def update(tx: Transaction) -> pb.UpdateWebhookResponse:
            _check(request, account, webhook_id, tx)
            row = store.update(account, webhook_id, changes, tx)
            return with_etag(pb.UpdateWebhookResponse(webhook=messages.webhook(row)), row.secret)

        return await self._database.write(update)

    def _changes(self, request: pb.UpdateWebhookRequest) -> dict[str, Any]:
        """Returns the fields that a request changes. Raises ValidationError."""
        allowed = ("url", "description", "event_types", "enabled")
        changes = {name: getattr(request, name) for name in changed_fields(request, allowed)}
        if "url" in changes:
            changes["url"] = check_url(request.url, self._egress_policy)
        if "event_types" in changes:
            changes["event_types"] = tuple(check_event_types(list(request.event_types)))
        return changes

    async def DeleteWebhook(
        self, request: pb.DeleteWebhookRequest, _context: Context
    ) -> pb.DeleteWebhookResponse:
        account, webhook_id = account_id(), checked_id(request.id, WebhookNotFound)

        def delete(tx: Transaction) -> None:
            _check(request, account, webhook_id, tx)
            store.delete(account, webhook_id, tx)

        await self._database.write(delete)
        return pb.DeleteWebhookResponse()

    async def RotateWebhookSecret(
        self, request: pb.RotateWebhookSecretRequest, _context: Context
    ) -> pb.RotateWebhookSecretResponse:
        account, secret = account_id(), make_secret()
        webhook_id = checked_id(request.id, WebhookNotFound)

        def rotate(tx: Transaction) -> pb.RotateWebhookSecretResponse:
            _check(request, account, webhook_id, tx)
            row = store.rotate(account, webhook_id, self._encrypting(account, secret), tx)
            reply = pb.RotateWebhookSecretResponse(webhook=messages.webhook(row), secret=secret)
            return with_etag(reply, row.secret)

        return await self._database.write(rotate)

    def _encrypting(self, account: str, secret: str) -> store.Encrypt:
        return lambda webhook_id: self._secrets.encrypt(account, webhook_id, secret)

    async def TestWebhook(
        self, request: pb.TestWebhookRequest, _context: Context
    ) -> pb.TestWebhookResponse:
        account, webhook_id = account_id(), checked_id(request.id, WebhookNotFound)
        started = await self._database.begin(
            lambda tx: store_test_deliveries.begin(account, webhook_id, tx)
        )
        if isinstance(started, pb.TestWebhookResponse):
            return started
        return await _shielded(self._send_test(account, started))

    async def _send_test(self, account: str, leased: LeasedDelivery) -> pb.TestWebhookResponse:
        finished = await self._sender.send(account, leased)

        def conclude(tx: Transaction) -> pb.TestWebhookResponse:
            delivery, attempt = store_test_deliveries.conclude(account, finished, tx)
            return pb.TestWebhookResponse(
                delivery=messages.delivery(delivery),
                attempt=messages.attempt(delivery.event_id, attempt),
            )

        response: pb.TestWebhookResponse = await self._database.conclude(conclude)
        return response

    async def ListEvents(
        self, request: pb.ListEventsRequest, _context: Context
    ) -> pb.ListEventsResponse:
        account, filters, descending = account_id(), _filter(request), request.order == "desc"
        page = page_in(f"events {(filters, descending)!r}", request)
        with_links = allows(current().scope, WRITE)
        rows, total, following = await self._database.read(
            lambda tx: events.page(account, filters, page, tx, descending=descending)
        )
        response = pb.ListEventsResponse(
            events=[messages.event(account, row.envelope, with_links=with_links) for row in rows],
            total=total,
            page=page.number,
            limit=page.limit,
            next_page_token=token_of(following),
        )
        check_page(response)
        return response

    async def GetEvent(self, request: pb.GetEventRequest, _context: Context) -> pb.GetEventResponse:
        account, with_links = account_id(), allows(current().scope, WRITE)
        row = await self._database.read(partial(events.find, account, request.id))
        event = messages.event(account, row.envelope, with_links=with_links)
        return pb.GetEventResponse(event=event)


def _check(request: Conditional, account_id: str, webhook_id: str, tx: Transaction) -> None:
    """Checks the condition of a change. The entity tag also changes with the secret."""
    row = store.find_to_change(account_id, webhook_id, tx)
    check_change(request, messages.webhook(row), tx, row.secret)


def _filter(request: pb.ListEventsRequest) -> events.Filter:
    """Returns the filter of a list request. Raises ValidationError."""
    event_types = check_filter("eventType", request.event_type)
    if not request.after_sequence.is_integer():
        raise invalid("afterSequence", "INVALID_VALUE", "must be a whole number")
    first_id, end_id = created_range(request)
    return events.Filter(
        after=int(request.after_sequence),
        event_types=event_types,
        first_id=first_id,
        end_id=end_id,
    )


async def _shielded(work: Awaitable[Result]) -> Result:
    """Returns the result of work, which continues if the call is canceled.

    The request has been sent by then, and its result must be stored.
    """
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    return task.result()
