"""The methods of SubscriberService that return the stored data of one person, or count it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from google.protobuf.message import Message

from roster.v1 import subscribers_pb2 as pb
from roster.v1.deliveries_pb2 import Event

from ...rpc.caller import account_id
from ...rpc.messages import MAX_STREAMED_BYTES, Context, actor_message, check_page, timestamp
from ...rpc.paging import MAX_LIMIT, PageToken, page_in, parse_page_token
from ...storage.database import Database
from ...storage.transaction import Transaction
from . import store_history
from .fields import Status
from .history import EntryType
from .messages import fill
from .rules import OPTED_OUT
from .store_history import END, HistoryEntry, HistoryPage, HistoryPosition, Person
from .store_reading import check_reference, find

# Less than every ID of a delivery.
_NO_DELIVERY = "0" * 26


class PersonalData(Protocol):
    """The data about a subscriber in other packages, see `webhooks/personal_data.py`."""

    def read(
        self, account_id: str, subscriber_id: str, sequence: int, delivery_id: str, tx: Transaction
    ) -> Iterator[tuple[int, str, Event | pb.PersonalDelivery]]: ...

    def count(
        self, account_id: str, subscriber_id: str, tx: Transaction
    ) -> tuple[int, list[pb.ErasureReceiver]]: ...

    def responses(self, account_id: str, person: Person, tx: Transaction) -> set[str]: ...

    async def remove_early(self, account_id: str, person: Person) -> int: ...

    def remove(
        self, account_id: str, person: Person, responses: set[str], first: int, tx: Transaction
    ) -> None: ...

    async def remove_files(self, account_id: str) -> None: ...


class HistoryMethods:
    """Returns the history and the personal data of subscribers of the caller's account."""

    def __init__(self, database: Database, personal_data: PersonalData) -> None:
        self._database = database
        self._personal_data = personal_data

    async def GetSubscriberPersonalData(
        self, request: pb.GetSubscriberPersonalDataRequest, _context: Context
    ) -> pb.GetSubscriberPersonalDataResponse:
        account, reference = account_id(), check_reference(request.id)
        list_key = f"personal data of {reference}"
        start = PageToken("", 1)
        if request.page_token:
            start = parse_page_token(request.page_token, list_key)

        def read(tx: Transaction) -> pb.GetSubscriberPersonalDataResponse:
            row = find(account, reference, tx)
            reply = pb.GetSubscriberPersonalDataResponse()
            fill(reply.subscriber, row, full=True)
            size = 0
            for end, record in self._fill(reply, account, row.id, start, tx):
                size += record.ByteSize()
                if size > MAX_STREAMED_BYTES:
                    reply.next_page_token = end.text(list_key)
                    break
            return reply

        return await self._database.read(read)

    def _fill(
        self,
        reply: pb.GetSubscriberPersonalDataResponse,
        account: str,
        subscriber_id: str,
        start: PageToken,
        tx: Transaction,
    ) -> Iterator[tuple[PageToken, Message]]:
        """Adds records one by one, and yields each with the position after it.

        In a position among events, the revision is a sequence number.
        """
        number = start.page + 1
        if not start.revision:
            position, more = HistoryPosition(MAX_LIMIT, before=start.after or END), True
            while more:
                entries, _, more = store_history.page(account, subscriber_id, position, tx)
                for entry in entries:
                    message = entry_message(entry)
                    reply.history.append(message)
                    position = position._replace(before=entry.id)
                    yield PageToken(entry.id, number), message
        events = self._personal_data.read(account, subscriber_id, start.revision, start.after, tx)
        for sequence, delivery_id, record in events:
            if isinstance(record, pb.PersonalDelivery):
                reply.deliveries.append(record)
            else:
                reply.events.append(record)
            yield PageToken(delivery_id or _NO_DELIVERY, number, sequence), record

    async def GetSubscriberErasurePreview(
        self, request: pb.GetSubscriberErasurePreviewRequest, _context: Context
    ) -> pb.GetSubscriberErasurePreviewResponse:
        account, reference = account_id(), check_reference(request.id)

        def read(tx: Transaction) -> pb.GetSubscriberErasurePreviewResponse:
            row = find(account, reference, tx)
            events, receivers = self._personal_data.count(account, row.id, tx)
            return pb.GetSubscriberErasurePreviewResponse(
                history_entries=store_history.count(account, row.id, tx),
                events=events,
                receivers=receivers,
                suppresses_address=row.status in OPTED_OUT,
            )

        return await self._database.read(read)

    async def ListSubscriberHistory(
        self, request: pb.ListSubscriberHistoryRequest, _context: Context
    ) -> pb.ListSubscriberHistoryResponse:
        account, reference = account_id(), check_reference(request.id)
        page = page_in(f"history of {reference}", request)
        before = page.token.after if page.token else END
        position = HistoryPosition(page.limit, page.offset, before)

        def read(tx: Transaction) -> HistoryPage:
            row = find(account, reference, tx)
            return store_history.page(account, row.id, position, tx)

        found = await self._database.read(read)
        following = page.following(found.entries[-1].id) if found.more else None
        reply = pb.ListSubscriberHistoryResponse(
            history=map(entry_message, found.entries), **page.fields(found.total, following)
        )
        check_page(reply)
        return reply


def entry_message(entry: HistoryEntry) -> pb.SubscriberHistoryEntry:
    message = pb.SubscriberHistoryEntry(
        id=entry.id,
        type=pb.SubscriberHistoryEntry.Type.Value(entry.type),
        created_at=timestamp(entry.at),
        source=pb.SubscriberHistoryEntry.Source.Value(entry.source),
    )
    if entry.actor is not None:
        message.actor.CopyFrom(actor_message(entry.actor))
        if entry.actor.ip:
            message.ip = entry.actor.ip
    if entry.operation_id:
        message.operation_id = entry.operation_id
    changes = entry.changes
    if entry.type is EntryType.FIELDS_CHANGED:
        message.before.update({name: before for name, (before, _) in changes.items()})
        message.after.update({name: after for name, (_, after) in changes.items()})
    elif entry.type is EntryType.TAGS_CHANGED:
        message.tags_change.added.extend(changes["added"])
        message.tags_change.removed.extend(changes["removed"])
    elif entry.type in (EntryType.CREATED, EntryType.STATUS_CHANGED):
        message.status_change.to_status = _status(changes["to"])
        if "from" in changes:
            message.status_change.from_status = _status(changes["from"])
        if "consentSource" in changes:
            message.consent_source = changes["consentSource"]
    elif entry.type is EntryType.OPT_OUT_REPEATED:
        message.status_change.to_status = _status(changes["stated"])
    elif "reason" in changes:
        message.reason = changes["reason"]
    return message


def _status(name: str) -> pb.Subscriber.Status.ValueType:
    return pb.Subscriber.Status.ValueType(Status[name])
