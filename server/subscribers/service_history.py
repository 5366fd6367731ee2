"""The methods of SubscriberService for what is stored about one person."""

from __future__ import annotations

from roster.v1 import subscribers_pb2 as pb

from ..caller import account_id
from ..ids import is_id
from ..messages import Context, check_page, timestamp
from ..paging import PageToken, page_of, parse_page_token
from ..storage.database import Database
from ..storage.transaction import Transaction
from . import store_history
from .fields import Status
from .history import EntryType
from .store_history import HistoryEntry, HistoryPage, HistoryPosition
from .store_reading import check_reference, find


class HistoryMethods:
    """Returns the history of subscribers of the caller's account."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ListSubscriberHistory(
        self, request: pb.ListSubscriberHistoryRequest, _context: Context
    ) -> pb.ListSubscriberHistoryResponse:
        account, reference, page = account_id(), check_reference(request.id), page_of(request)
        list_key = f"history of {reference}"
        number, position = page.number, HistoryPosition(page.limit, page.offset)
        if request.page_token:
            token = parse_page_token(request.page_token, list_key)
            number, position = token.page, HistoryPosition(page.limit, before=token.after)

        def read(tx: Transaction) -> HistoryPage:
            row = find(account, reference, tx)
            return store_history.page(account, row.id, position, tx)

        found = await self._database.read(read)
        reply = pb.ListSubscriberHistoryResponse(
            history=[entry_message(entry) for entry in found.entries],
            total=found.total,
            page=number,
            limit=page.limit,
        )
        if found.more:
            token = PageToken(found.entries[-1].id, number + 1)
            reply.next_page_token = token.text(list_key)
        check_page(reply)
        return reply


def entry_message(entry: HistoryEntry) -> pb.SubscriberHistoryEntry:
    message = pb.SubscriberHistoryEntry(
        id=entry.id,
        type=pb.SubscriberHistoryEntry.Type.Value(entry.type),
        created_at=timestamp(entry.at),
        source=pb.SubscriberHistoryEntry.Source.Value(entry.by.source),
    )
    if is_id(entry.by.id):
        message.key_id = entry.by.id
    elif entry.by.id:
        message.ip = entry.by.id
    changes = entry.changes
    if entry.type is EntryType.FIELDS_CHANGED:
        message.before.update({name: before for name, (before, _) in changes.items()})
        message.after.update({name: after for name, (_, after) in changes.items()})
    elif entry.type is EntryType.TAGS_CHANGED:
        message.tags.added.extend(changes["added"])
        message.tags.removed.extend(changes["removed"])
    elif entry.type in (EntryType.CREATED, EntryType.STATUS_CHANGED):
        message.status.to = _status(changes["to"])
        if "from" in changes:
            setattr(message.status, "from", _status(changes["from"]))
    return message


def _status(name: str) -> pb.Subscriber.Status.ValueType:
    return pb.Subscriber.Status.ValueType(Status[name])
