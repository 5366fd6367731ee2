"""Finds the subscriber of a link, and stores what the person decides."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import LinkNotFound, SubscriberNotFound
from ..links import CONFIRM_TIME, UNDO_TIME, Links, Purpose, Token
from ..storage.transaction import Transaction
from ..subscribers.fields import Status, SubscriberRow
from ..subscribers.history import Actor, EntryType, Source
from ..subscribers.rules import DECIDED, NO_CONSENT_RECORD, ConsentRecord
from ..subscribers.store_changes import change_status
from ..subscribers.store_history import last_change
from ..subscribers.store_reading import find
from ..suppressions.store import Suppressions

# Looked up for a text that is not a token, so that the response takes as long as for others.
_NO_TOKEN = Token(Purpose.UNSUBSCRIBE, "0" * 26, "0" * 26, None, "", "")


class Undo(NamedTuple):
    """The status to which a person can return, and until when in milliseconds."""

    status: Status
    until: int


class FoundLink(NamedTuple):
    """A link that works, and its subscriber. `undo` is None if there is nothing to undo."""

    token: Token
    subscriber: SubscriberRow
    undo: Undo | None

    @property
    def status(self) -> Status:
        return Status(self.subscriber.status)


class LinkStore:
    """Acts on the links of all accounts."""

    def __init__(self, links: Links, suppressions: Suppressions) -> None:
        self._links = links
        self._suppressions = suppressions

    def find(self, token: Token | None, tx: Transaction) -> FoundLink:
        """Returns the link of a token. Raises LinkNotFound.

        All tokens that do not work cause the same work.
        """
        token = token or _NO_TOKEN
        try:
            row = find(token.account_id, token.subscriber_id, tx)
        except SubscriberNotFound:
            row = None
        is_authentic = self._links.is_authentic(token, row.email_key if row else "")
        if row is None or not is_authentic or _has_ended(token, row, tx):
            raise LinkNotFound
        return FoundLink(token, row, self._undo(token, row, tx))

    def follow(self, token: Token | None, tx: Transaction, by: Actor) -> FoundLink:
        """Confirms or unsubscribes, and returns the link after the change.

        Raises LinkNotFound, InvalidStatusTransition or SubscriberSuppressed.
        """
        link = self.find(token, tx)
        if link.token.purpose is Purpose.CONFIRM:
            status, is_done = Status.CONFIRMED, link.status is Status.CONFIRMED
        else:
            status, is_done = Status.UNSUBSCRIBED, link.status in DECIDED
        return link if is_done else self._change(link, status, tx, by)

    def undo(self, token: Token | None, tx: Transaction, by: Actor) -> FoundLink:
        """Returns an unsubscribed person to the status before, if it can be undone.

        Raises LinkNotFound.
        """
        link = self.find(token, tx)
        if link.undo is None:
            return link
        times = ConsentRecord(confirmed_at=link.subscriber.confirmed_at)
        return self._change(link, link.undo.status, tx, by, times)

    def _change(
        self,
        link: FoundLink,
        status: Status,
        tx: Transaction,
        by: Actor,
        times: ConsentRecord = NO_CONSENT_RECORD,
    ) -> FoundLink:
        row = change_status(
            link.token.account_id,
            link.subscriber.id,
            status,
            tx,
            by,
            by_admin=False,
            consent_record=times,
            suppressions=self._suppressions,
        )
        return FoundLink(link.token, row, self._undo(link.token, row, tx))

    def _undo(self, token: Token, row: SubscriberRow, tx: Transaction) -> Undo | None:
        """Returns what a person can undo who unsubscribed in the last minutes."""
        changed_at = row.status_changed_at or 0
        if (
            token.purpose is not Purpose.UNSUBSCRIBE
            or row.status != Status.UNSUBSCRIBED
            or changed_at + UNDO_TIME <= tx.now
            or self._suppressions.suppressed_among(token.account_id, [row.email_key], tx)
        ):
            return None
        # A confirmation belongs to the address, so nothing is undone after a change of it.
        types = (EntryType.STATUS_CHANGED, EntryType.FIELDS_CHANGED)
        last = last_change(token.account_id, row.id, types, tx)
        if last is None or "to" not in last.changes or last.by.source is not Source.SELF_SERVICE:
            return None
        before = Status[last.changes["from"]]
        can_return = before in (Status.UNCONFIRMED, Status.CONFIRMED)
        return Undo(before, changed_at + UNDO_TIME) if can_return else None


def _has_ended(token: Token, row: SubscriberRow, tx: Transaction) -> bool:
    """Whether a link that confirms has expired, or the status changed after it was created.

    It can be repeated. The times of a subscriber are not compared, because imports can state them.
    """
    if token.expires_at is None:
        return False
    if token.expires_at <= tx.now:
        return True
    if row.status == Status.CONFIRMED:
        return False
    last = last_change(token.account_id, row.id, (EntryType.STATUS_CHANGED,), tx)
    return last is not None and last.at >= token.expires_at - CONFIRM_TIME
