"""SubscriberService.GetSubscriberMailability."""

from __future__ import annotations

from typing import NamedTuple

from roster.v1 import subscribers_pb2 as pb

from ...rpc.caller import Caller, current
from ...rpc.errors import RosterError, SubscriberNotFound, invalid
from ...rpc.messages import Context, actor_message, timestamp
from ...storage.database import Database
from ...storage.transaction import Transaction
from ..accounts.rules import ADMIN, WRITE, allows
from ..suppressions.store import SuppressionRow, Suppressions
from .fields import Status, SubscriberRow
from .history import EntryType, Source
from .rules import OPTED_OUT
from .store_changes import with_status
from .store_history import HistoryEntry, last_status
from .store_reading import Reference, check_reference, find_or_none

Response = pb.GetSubscriberMailabilityResponse


class Mailability(NamedTuple):
    """Why a person may or may not be mailed; `since` in milliseconds.

    `entry` is that of the history which gave a subscriber the status that decides.
    """

    reason: Response.Reason.ValueType
    since: int | None = None
    entry: HistoryEntry | None = None


class MailabilityMethods:
    """A part of SubscriberService, which sets the attributes."""

    _database: Database
    _suppressions: Suppressions

    async def GetSubscriberMailability(
        self, request: pb.GetSubscriberMailabilityRequest, _context: Context
    ) -> Response:
        caller, reference = current(), _reference(request.id)
        account = caller.account_id

        def read(tx: Transaction) -> Response:
            row = find_or_none(account, reference, tx)
            if isinstance(reference, str):
                if row is None:
                    raise SubscriberNotFound
                email_key = row.email_key
            else:
                email_key = reference.key
            suppression = self._suppressions.find_or_none(account, email_key, tx)
            found = _mailability(account, row, suppression, tx)
            actor = found.entry.actor if found.entry else None
            response = Response(
                may_be_mailed=found.reason == Response.CONFIRMED,
                reason=found.reason,
                since=None if found.since is None else timestamp(found.since),
                actor=None if actor is None else actor_message(actor),
                suppressed=suppression is not None,
            )
            if found.entry is not None:
                response.source = pb.SubscriberHistoryEntry.Source.Value(found.entry.source)
            if found.entry is not None and found.entry.operation_id:
                response.operation_id = found.entry.operation_id
            if row is not None:
                response.allowed_statuses.extend(self._allowed(caller, row, tx))
            return response

        return await self._database.read(read)

    def _allowed(
        self, caller: Caller, row: SubscriberRow, tx: Transaction
    ) -> list[pb.Subscriber.Status.ValueType]:
        """Returns the other statuses to which a caller can change a subscriber."""
        if not allows(caller.scope, WRITE):
            return []
        by_admin, suppressions = caller.scope == ADMIN, self._suppressions
        allowed = []
        for status in Status:
            (outcome,) = with_status(
                caller.account_id, [row], status, tx, by_admin=by_admin, suppressions=suppressions
            )
            if status != row.status and not isinstance(outcome, RosterError):
                allowed.append(pb.Subscriber.Status.ValueType(status))
        return allowed


def _reference(text: str) -> Reference:
    """Returns the ID or the address. Raises ValidationError for any other text."""
    try:
        return check_reference(text)
    except SubscriberNotFound:
        message = "must be an email address, such as name@example.com, or a subscriber ID"
        raise invalid("id", "INVALID_FORMAT", message) from None


def _mailability(
    account_id: str, row: SubscriberRow | None, suppression: SuppressionRow | None, tx: Transaction
) -> Mailability:
    if suppression is not None and (row is None or row.status not in OPTED_OUT):
        # The numbers of reasons are those of statuses, and of the reasons of suppressions.
        reason = Response.Reason.ValueType(suppression.reason)
        return Mailability(reason, suppression.created_at)
    if row is None:
        return Mailability(Response.NOT_SUBSCRIBED)
    entry = last_status(account_id, row.id, tx)
    stated = {Status.CONFIRMED: row.confirmed_at, Status.UNSUBSCRIBED: row.unsubscribed_at}
    since = row.status_changed_at or stated.get(Status(row.status))
    if since is None and entry is not None and entry.type is EntryType.CREATED:
        # The time of an imported confirmation or opt-out that states none is not that of the
        # creation.
        is_imported = entry.source is Source.IMPORT and row.status != Status.UNCONFIRMED
        if not is_imported and row.status not in OPTED_OUT:
            since = row.created_at
    return Mailability(Response.Reason.ValueType(row.status), since, entry)
