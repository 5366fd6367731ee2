"""The methods of WebhookService for deliveries: list, get, retry, replay, tail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection

from roster.v1 import webhooks_pb2 as pb

from ...rpc.caller import account_id, current
from ...rpc.errors import WebhookDeliveryNotFound, WebhookNotFound, invalid
from ...rpc.etags import with_etag
from ...rpc.idempotency.idempotent_database import IdempotentDatabase
from ...rpc.messages import Context, created_range, first_id_at_or_after, milliseconds
from ...rpc.paging import Page, page_in
from ...rpc.streams import accept
from ...storage.transaction import Transaction
from ...values.clock import iso8601
from ...values.ids import checked_id
from ..operations.messages import operation
from ..subscribers import store_reading as subscribers
from .delivery import store_deliveries as deliveries
from .delivery import store_replays as replays
from .delivery.tail import Tails
from .endpoints.store_reading import find
from .messages import attempt, delivery
from .query import store_pages as pages
from .rules import check_event_types, check_filter


class DeliveryMethods:
    """Returns and retries the deliveries to the webhooks of the caller's account."""

    def __init__(
        self, database: IdempotentDatabase, notify: Callable[[Collection[str]], None]
    ) -> None:
        """`notify` starts operations of accounts."""
        self._database = database
        self._notify = notify
        self._tails = Tails(database)

    def serve(self, *, serving: bool) -> None:
        """Allows tails, or ends all of them so that the service can stop."""
        self._tails.serve(serving=serving)

    async def ListWebhookDeliveries(
        self, request: pb.ListWebhookDeliveriesRequest, _context: Context
    ) -> pb.ListWebhookDeliveriesResponse:
        account, webhook_id = account_id(), checked_id(request.id, WebhookNotFound)
        filters = _filter(request, *created_range(request))
        page = page_in(repr((webhook_id, filters)), request)

        def get(tx: Transaction) -> tuple[list[deliveries.DeliveryRow], int, Page | None]:
            find(account, webhook_id, tx)
            return pages.page(account, webhook_id, filters, page, tx)

        rows, total, following = await self._database.read(get)
        return pb.ListWebhookDeliveriesResponse(
            deliveries=map(delivery, rows), **page.fields(total, following)
        )

    async def ListAllWebhookDeliveries(
        self, request: pb.ListAllWebhookDeliveriesRequest, _context: Context
    ) -> pb.ListAllWebhookDeliveriesResponse:
        account, search = account_id(), _search(request)
        person = request.subscriber_id and subscribers.check_reference(request.subscriber_id)
        page = page_in(f"webhook deliveries {(search, request.subscriber_id)!r}", request)

        def get(tx: Transaction) -> tuple[list[deliveries.DeliveryRow], Page | None]:
            if search.webhook_id is not None:
                find(account, search.webhook_id, tx)
            about = person
            # An identifier can be that of a deleted subscriber.
            if not isinstance(about, str):
                about = subscribers.find(account, about, tx).id
            chosen = search._replace(subscriber_id=about or None)
            return pages.page_of_all(account, chosen, page, tx)

        rows, following = await self._database.read(get)
        is_all = page.number == 1 and following is None
        return pb.ListAllWebhookDeliveriesResponse(
            deliveries=map(delivery, rows), **page.fields(len(rows) if is_all else None, following)
        )

    async def GetWebhookDelivery(
        self, request: pb.GetWebhookDeliveryRequest, _context: Context
    ) -> pb.GetWebhookDeliveryResponse:
        account, delivery_id = account_id(), checked_id(request.id, WebhookDeliveryNotFound)

        def get(tx: Transaction) -> pb.GetWebhookDeliveryResponse:
            found = deliveries.find(account, delivery_id, tx)
            attempts = deliveries.attempts_of(account, delivery_id, tx)
            return pb.GetWebhookDeliveryResponse(
                delivery=delivery(found),
                attempts=[attempt(found.event_id, row) for row in attempts],
            )

        return await self._database.read(get)

    async def RetryWebhookDelivery(
        self, request: pb.RetryWebhookDeliveryRequest, _context: Context
    ) -> pb.RetryWebhookDeliveryResponse:
        account, delivery_id = account_id(), checked_id(request.id, WebhookDeliveryNotFound)
        return await self._database.write(
            lambda tx: pb.RetryWebhookDeliveryResponse(
                delivery=delivery(deliveries.retry(account, delivery_id, tx))
            )
        )

    async def ReplayWebhook(
        self, request: pb.ReplayWebhookRequest, _context: Context
    ) -> pb.ReplayWebhookResponse:
        account, replay_filter = account_id(), _replay_filter(request)

        def create(tx: Transaction) -> pb.ReplayWebhookResponse:
            row = replays.create(account, replay_filter, tx)
            return with_etag(pb.ReplayWebhookResponse(operation=operation(row)))

        reply = await self._database.write(create)
        self._notify([account])
        return reply

    async def TailWebhookDeliveries(
        self, request: pb.TailWebhookDeliveriesRequest, context: Context
    ) -> AsyncIterator[pb.TailWebhookDeliveriesResponse]:
        webhook_id = request.webhook_id
        if webhook_id:
            checked_id(webhook_id, WebhookNotFound)
        caller = current()
        position = await self._tails.start(caller, webhook_id)
        await accept(context)
        async for record in self._tails.follow(caller, webhook_id, position):
            yield pb.TailWebhookDeliveriesResponse(
                delivery=delivery(record.delivery),
                attempt=attempt(record.delivery.event_id, record.attempt),
            )


def _search(request: pb.ListAllWebhookDeliveriesRequest) -> pages.Search:
    """Returns the filters of a list request except the subscriber.

    Raises ValidationError or WebhookNotFound.
    """
    first_id = first_id_at_or_after(request.since) if request.HasField("since") else None
    end_id = first_id_at_or_after(request.until) if request.HasField("until") else None
    filters = _filter(request, first_id, end_id)
    webhook_id = request.webhook_id and checked_id(request.webhook_id, WebhookNotFound)
    http_status = request.http_status if request.HasField("http_status") else None
    return pages.Search(filters, webhook_id or None, http_status=http_status)


def _filter(
    request: pb.ListWebhookDeliveriesRequest | pb.ListAllWebhookDeliveriesRequest,
    first_id: str | None,
    end_id: str | None,
) -> pages.Filter:
    """Returns the filter of a list request. Raises ValidationError."""
    return pages.Filter(
        status=request.state or None,
        event_types=check_filter("eventType", request.event_type) or None,
        event_id=request.event_id or None,
        first_id=first_id,
        end_id=end_id,
    )


def _replay_filter(request: pb.ReplayWebhookRequest) -> replays.ReplayFilter:
    """Returns the filter of a replay. Raises ValidationError or WebhookNotFound."""
    since, until = request.since, request.until
    has_end = request.HasField("until")
    if has_end and until.ToNanoseconds() <= since.ToNanoseconds():
        raise invalid("until", "OUT_OF_RANGE", "must be later than since")
    event_types = check_event_types(list(request.event_types))
    return replays.ReplayFilter(
        first_id=first_id_at_or_after(since),
        end_id=first_id_at_or_after(until) if has_end else None,
        stored={
            "webhookId": checked_id(request.id, WebhookNotFound),
            "since": iso8601(milliseconds(since)),
            **({"until": iso8601(milliseconds(until))} if has_end else {}),
            "eventTypes": event_types,
            "onlyFailed": request.only_failed,
        },
    )
