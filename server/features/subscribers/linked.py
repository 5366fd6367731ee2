"""Subscribers with the URLs of their links, as events and exports contain them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...security.links import CONFIRM_TIME, Links
from ...values.texts import json_name
from .fields import Status, SubscriberRow

# The columns of a CSV file, and the members of JSON.
COLUMNS = ("confirmUrl", "unsubscribeUrl")


class SubscriberUrls(NamedTuple):
    """The URLs of a subscriber; `confirm_url` is None if there is nothing to confirm."""

    confirm_url: str | None
    unsubscribe_url: str

    def as_json(self) -> dict[str, str]:
        return {json_name(name): url for name, url in self._asdict().items() if url}


class LinkedSubscriber(NamedTuple):
    """A subscriber as the resource of an event."""

    row: SubscriberRow
    urls: SubscriberUrls

    @property
    def id(self) -> str:
        return self.row.id

    def as_json(self) -> dict[str, Any]:
        """Returns the subscriber as the API returns it, with the URLs."""
        return self.row.as_json() | self.urls.as_json()


def urls_of(
    account_id: str, row: SubscriberRow, links: Links, now: int, *, can_confirm: bool = False
) -> SubscriberUrls:
    """Returns the URLs of a subscriber. Raises PublicUrlNotSet.

    Unless `can_confirm`, `confirm_url` is None if the status is not UNCONFIRMED, so that a program
    that mails each of these URLs does not send mail to people who unsubscribed.
    """
    of_row, confirm_url = (account_id, row.id, row.email_key), None
    if can_confirm or row.status == Status.UNCONFIRMED:
        confirm_url = links.confirm_url(*of_row, row.status_revision, now + CONFIRM_TIME)
    return SubscriberUrls(confirm_url, links.unsubscribe_url(*of_row))
