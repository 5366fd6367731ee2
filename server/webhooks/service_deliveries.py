"""The part of WebhookService that tells of deliveries and has them made again."""

from __future__ import annotations

from collections.abc import AsyncIterator

from roster.v1 import webhooks_pb2 as pb

from ..caller import account_id, current
from ..errors import WebhookDeliveryNotFound, WebhookNotFound, invalid
from ..events.rules import event_types_matching
from ..ids import checked_id
from ..messages import Context, first_id_after, first_id_at_or_after, timestamp
from ..paging import PageToken, page_of, parse_page_token
from ..storage.database import Database
from ..storage.transaction import Transaction
from ..streams import accept
from .delivery import store_deliveries as deliveries
from .delivery import store_pages as pages
from .delivery import store_replays as replays
from .delivery.tail import Tails
from .endpoints.store_reading import find
from .messages import attempt, delivery
from .rules import check_event_types


class DeliveryCalls:
    """Tells of the deliveries to the webhooks of the caller's account."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tails = Tails(database)

    def serve(self, *, serving: bool) -> None:
        """Lets callers follow attempts, or ends all who do, so that the service can stop."""
        self._tails.serve(serving=serving)

    async def ListWebhookDeliveries(
        self, request: pb.ListWebhookDeliveriesRequest, context: Context
    ) -> pb.ListWebhookDeliveriesResponse:
        account, page = account_id(), page_of(request)
        webhook_id = checked_id(request.webhook_id, WebhookNotFound)
        filters = _filter(request)
        filter_text = repr((webhook_id, filters))
        position, number = pages.PagePosition(page.limit, page.offset), page.number
        if request.page_token:
            token = parse_page_token(request.page_token, filter_text)
            position, number = pages.PagePosition(page.limit, after=token.after), token.page

        def get(tx: Transaction) -> pages.DeliveryPage:
            find(account, webhook_id, tx)
            return pages.page(account, webhook_id, filters, position, tx)

        found = await self._database.read(get)
        more = PageToken(found.rows[-1].id, number + 1).text(filter_text) if found.more else ""
        return pb.ListWebhookDeliveriesResponse(
            deliveries=[delivery(row) for row in found.rows],
            total=found.total,
            page=number,
            limit=page.limit,
            next_page_token=more,
        )

    async def GetWebhookDelivery(
        self, request: pb.GetWebhookDeliveryRequest, context: Context
    ) -> pb.GetWebhookDeliveryResponse:
        account, own_id = account_id(), checked_id(request.id, WebhookDeliveryNotFound)

        def get(tx: Transaction) -> pb.GetWebhookDeliveryResponse:
            return pb.GetWebhookDeliveryResponse(
                delivery=delivery(deliveries.find(account, own_id, tx)),
                attempts=[attempt(row) for row in deliveries.attempts_of(account, own_id, tx)],
            )

        return await self._database.read(get)

    async def RetryWebhookDelivery(
        self, request: pb.RetryWebhookDeliveryRequest, context: Context
    ) -> pb.RetryWebhookDeliveryResponse:
        account, own_id = account_id(), checked_id(request.id, WebhookDeliveryNotFound)
        return await self._database.write(
            lambda tx: pb.RetryWebhookDeliveryResponse(
                delivery=delivery(deliveries.retry(account, own_id, tx))
            )
        )

    async def ReplayWebhook(
        self, request: pb.ReplayWebhookRequest, context: Context
    ) -> pb.ReplayWebhookResponse:
        account, replay_filter = account_id(), _replay_filter(request)
        webhook_id = checked_id(request.id, WebhookNotFound)
        return await self._database.write(
            lambda tx: pb.ReplayWebhookResponse(
                replay=_replay(replays.create(account, webhook_id, replay_filter, tx))
            )
        )

    async def TailWebhookDeliveries(
        self, request: pb.TailWebhookDeliveriesRequest, context: Context
    ) -> AsyncIterator[pb.TailWebhookDeliveriesResponse]:
        webhook_id = request.webhook_id
        if webhook_id:
            checked_id(webhook_id, WebhookNotFound)
        caller = current()
        position = await self._tails.begin(caller, webhook_id)
        await accept(context)
        async for record in self._tails.follow(caller, webhook_id, position):
            yield pb.TailWebhookDeliveriesResponse(
                delivery=delivery(record.delivery), attempt=attempt(record.attempt)
            )


def _filter(request: pb.ListWebhookDeliveriesRequest) -> pages.Filter:
    """Returns what a request asks for, in the words of the store. Raises ValidationError."""
    event_types = event_types_matching(request.event_type)
    if request.event_type and not event_types:
        raise invalid("eventType", "INVALID_VALUE", "is no type of event")
    since, until = request.created_after, request.created_before
    return pages.Filter(
        status=request.status or None,
        event_types=event_types or None,
        event_id=request.event_id or None,
        first_id=first_id_after(since) if request.HasField("created_after") else None,
        end_id=first_id_at_or_after(until) if request.HasField("created_before") else None,
    )


def _replay_filter(request: pb.ReplayWebhookRequest) -> replays.ReplayFilter:
    """Returns what is to be replayed. Raises ValidationError."""
    since, until = request.since, request.until
    if request.HasField("until") and until.ToNanoseconds() <= since.ToNanoseconds():
        raise invalid("until", "OUT_OF_RANGE", "must be later than since")
    return replays.ReplayFilter(
        first_id=first_id_at_or_after(since),
        end_id=first_id_at_or_after(until) if request.HasField("until") else None,
        event_types=check_event_types(list(request.event_types)),
        only_failed=request.only_failed,
    )


def _replay(row: replays.ReplayRow) -> pb.WebhookReplay:
    return pb.WebhookReplay(
        id=row.id, webhook_id=row.webhook_id, created_at=timestamp(row.created_at)
    )
