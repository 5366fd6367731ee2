"""Finds the subscriber of a link, and stores what the person decides."""

from __future__ import annotations

from typing import NamedTuple

from ...rpc.errors import LinkNotFound
from ...security.links import CONFIRM_TIME, UNDO_TIME, Links, Purpose, Token
from ...storage.transaction import Transaction
from ...values.emails import Email, comparison_key
from ..accounts.store import find_account
from ..subscribers.fields import Status, SubscriberRow
from ..subscribers.history import EntryType, Source
from ..subscribers.rules import DECIDED, NO_CONSENT_RECORD, STATUS_OF_REASON, ConsentRecord
from ..subscribers.store_changes import change_status
from ..subscribers.store_history import earlier_addresses, last_change
from ..subscribers.store_reading import find_or_none
from ..subscribers.store_repeated import record_repeated_opt_outs
from ..suppressions.rules import NewSuppression, Reason
from ..suppressions.store import Suppressions

# Looked up in place of an invalid token, so that the response takes as long.
NO_TOKEN = Token(Purpose.UNSUBSCRIBE, "0" * 26, "0" * 26)


class Undo(NamedTuple):
    """The status to which a person can return, and until when in milliseconds."""

    status: Status
    until: int


class FoundLink(NamedTuple):
    """A link that works, and the address that it was created for.

    `subscriber` is None if no subscriber has the address anymore. `status` then follows from the
    suppression of the address. `undo` is None if there is nothing to undo.
    """

    token: Token
    email_key: str
    subscriber: SubscriberRow | None
    status: Status
    undo: Undo | None

    @property
    def is_current(self) -> bool:
        """Whether the subscriber still has the address."""
        return self.subscriber is not None and self.subscriber.email_key == self.email_key


class LinkStore:
    """Acts on the links of all accounts."""

    def __init__(self, links: Links, suppressions: Suppressions) -> None:
        self._links = links
        self._suppressions = suppressions

    def find(self, token: Token | None, tx: Transaction, *, opts_out: bool = False) -> FoundLink:
        """Returns the link of a token. Raises LinkNotFound.

        Every invalid token causes the same work. A link that confirms has no end for an opt-out.
        """
        token = token or NO_TOKEN
        account_id, id_ = token.account_id, token.subscriber_id
        row = find_or_none(account_id, id_, tx)
        if token.email_key is not None:
            row = row or find_or_none(account_id, Email(token.email_key, token.email_key), tx)
            return self._found(token, token.email_key, row, tx)
        if (
            row
            and self._links.is_for(token, row.email_key)
            and (opts_out or not _has_ended(token, row, tx))
        ):
            return self._found(token, row.email_key, row, tx)
        for key in map(comparison_key, earlier_addresses(account_id, id_, tx)):
            is_opt_out = opts_out or token.purpose is Purpose.UNSUBSCRIBE
            if is_opt_out and self._links.is_for(token, key):
                return self._found(token, key, row, tx)
        raise LinkNotFound

    def follow(self, token: Token | None, tx: Transaction, *, opts_out: bool = False) -> FoundLink:
        """Confirms or unsubscribes, and returns the link after the change.

        A link that confirms unsubscribes too if the person opts out with it. The address of an
        opt-out is suppressed if no subscriber has it, as if the person had opted out before it was
        changed. Raises LinkNotFound, InvalidStatusTransition or SubscriberSuppressed.
        """
        link = self.find(token, tx, opts_out=opts_out)
        account_id, email = link.token.account_id, Email(link.email_key, link.email_key)
        confirms = link.token.purpose is Purpose.CONFIRM and not opts_out
        if not confirms and find_or_none(account_id, email, tx) is None:
            suppression = NewSuppression(link.email_key, Reason.UNSUBSCRIBED)
            self._suppressions.add(account_id, [suppression], tx)
        if link.subscriber is None:
            return self.find(token, tx, opts_out=opts_out)
        if confirms:
            status, is_done = Status.CONFIRMED, link.status is Status.CONFIRMED
        else:
            status, is_done = Status.UNSUBSCRIBED, link.status in DECIDED
        if is_done:
            rows, source = [link.subscriber], Source.SELF_SERVICE
            record_repeated_opt_outs(account_id, rows, status, source, tx)
            return link
        return self._change(link, link.subscriber, status, tx)

    def undo(self, token: Token | None, tx: Transaction) -> FoundLink:
        """Returns an unsubscribed person to the status before, if it can be undone.

        Raises LinkNotFound.
        """
        link = self.find(token, tx)
        if link.undo is None or link.subscriber is None:
            return link
        times = ConsentRecord(confirmed_at=link.subscriber.confirmed_at)
        return self._change(link, link.subscriber, link.undo.status, tx, times)

    def _change(
        self,
        link: FoundLink,
        subscriber: SubscriberRow,
        status: Status,
        tx: Transaction,
        times: ConsentRecord = NO_CONSENT_RECORD,
    ) -> FoundLink:
        row = change_status(
            link.token.account_id,
            subscriber.id,
            status,
            tx,
            Source.SELF_SERVICE,
            by_admin=False,
            consent_record=times,
            suppressions=self._suppressions,
        )
        return self._found(link.token, link.email_key, row, tx)

    def _found(
        self, token: Token, email_key: str, row: SubscriberRow | None, tx: Transaction
    ) -> FoundLink:
        if row is not None:
            undo = self._undo(token, email_key, row, tx)
            return FoundLink(token, email_key, row, Status(row.status), undo)
        if find_account(token.account_id, tx) is None:
            raise LinkNotFound
        suppression = self._suppressions.find_or_none(token.account_id, email_key, tx)
        status = STATUS_OF_REASON[Reason(suppression.reason)] if suppression else Status.UNCONFIRMED
        return FoundLink(token, email_key, None, status, None)

    def _undo(
        self, token: Token, email_key: str, row: SubscriberRow, tx: Transaction
    ) -> Undo | None:
        """Returns what a person can undo who unsubscribed in the last minutes."""
        changed_at = row.status_changed_at or 0
        if (
            token.purpose is not Purpose.UNSUBSCRIBE
            or row.email_key != email_key
            or row.status != Status.UNSUBSCRIBED
            or changed_at + UNDO_TIME <= tx.now
            or self._suppressions.suppressed_among(token.account_id, [row.email_key], tx)
        ):
            return None
        # A confirmation belongs to the address, so nothing is undone after a change of it.
        types = (EntryType.STATUS_CHANGED, EntryType.FIELDS_CHANGED)
        last = last_change(token.account_id, row.id, types, tx)
        if last is None or last.type is not EntryType.STATUS_CHANGED:
            return None
        if last.source is not Source.SELF_SERVICE:
            return None
        before = Status[last.changes["from"]]
        can_return = before in (Status.UNCONFIRMED, Status.CONFIRMED)
        return Undo(before, changed_at + UNDO_TIME) if can_return else None


def _has_ended(token: Token, row: SubscriberRow, tx: Transaction) -> bool:
    """Whether a link that confirms has expired, or the status changed after it was created.

    It can be repeated.
    """
    if token.expires_at is None:
        return False
    if token.expires_at <= tx.now:
        return True
    if row.status == Status.CONFIRMED:
        return False
    if token.status_revision is not None:
        return token.status_revision != row.status_revision
    # A token of an earlier version, in which statuses had no revision.
    if row.status_revision:
        return True
    last = last_change(token.account_id, row.id, (EntryType.STATUS_CHANGED,), tx)
    return last is not None and last.at >= token.expires_at - CONFIRM_TIME
