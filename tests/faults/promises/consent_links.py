"""Links that are kept during a sequence and followed later, and what each may change."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from .consent_model import (
    LEVELS,
    Change,
    State,
    changed,
    confirmed,
    suppressed,
    unchanged,
    unsubscribed,
)

PURPOSES = ("CONFIRM", "UNSUBSCRIBE")
# Over HTTP, its JSON is the form.
_FORM = "List-Unsubscribe=One-Click"
ONE_CLICK = {"form": {"contentType": _FORM, "data": b64encode(_FORM.encode()).decode()}}
History = Sequence[Mapping[str, Any]]


class Link(NamedTuple):
    """A link, the subscriber and the address that it was created for, and its token.

    `changes` is the number of status changes in the history then.
    """

    purpose: str
    subscriber_id: str
    address: str
    changes: int
    token: str
    is_signed: bool = False


class Click(NamedTuple):
    """A request that follows a link, and the changes of which one is expected."""

    rpc: str
    request: Mapping[str, Any]
    changes: Sequence[Change]


def number_of_changes(history: History) -> int:
    return sum(entry["type"] in ("CREATED", "STATUS_CHANGED") for entry in history)


class Links:
    """The links of a sequence."""

    def __init__(self, rng: random.Random, history_of: Callable[[str], History]) -> None:
        self._rng, self._history_of = rng, history_of
        self.links: list[Link] = []

    def click(self, ids: Mapping[str, str]) -> Click:
        """Follows a link at random. `ids` are those of the subscribers by address."""
        # The old ones are those that changes have followed.
        link = min(self._rng.choices(self.links, k=2), key=self.links.index)
        name = link.purpose.title()
        if self._rng.random() < 0.2:
            rpc = self._rng.choice(["GetLink", f"Get{name}Page"])
            return Click(rpc, {"token": link.token}, [unchanged])
        if link.purpose == "UNSUBSCRIBE" and self._rng.random() < 0.2:
            request = {"token": link.token, "undo": True}
            return Click("FollowLink", request, self._undone(link, ids))
        if self._rng.random() < 0.2:
            return Click(
                f"Submit{name}Page", ONE_CLICK | {"token": link.token}, _by_robot(link, ids)
            )
        rpc = self._rng.choice(["FollowLink", f"Submit{name}Page"])
        return Click(rpc, {"token": link.token}, self._followed(link, ids))

    def _followed(self, link: Link, ids: Mapping[str, str]) -> Sequence[Change]:
        if link.purpose == "UNSUBSCRIBE":
            return _by_robot(link, ids)
        if ids.get(link.address) != link.subscriber_id:
            return [unchanged]
        if number_of_changes(self._history_of(link.subscriber_id)) != link.changes:
            return [unchanged]
        # Earlier versions created the signed ones, before statuses had a revision.
        return [confirmed(link.address), *([unchanged] if link.is_signed else [])]

    def _undone(self, link: Link, ids: Mapping[str, str]) -> Sequence[Change]:
        holder = _holder(link, ids)
        if holder is None or holder != link.address:
            return [unchanged]
        history = self._history_of(ids[holder])
        last = next(entry for entry in history if "statusChange" in entry)
        before = last["statusChange"].get("from")
        if last["source"] != "SELF_SERVICE" or before not in LEVELS:
            return [unchanged]
        return [unchanged, partial(_returned, holder, before)]


def _by_robot(link: Link, ids: Mapping[str, str]) -> Sequence[Change]:
    """Returns the changes of which one is expected if a program unsubscribes with a link."""
    holder = _holder(link, ids)
    if link.purpose == "CONFIRM":
        # It has ended if the status was changed.
        return [unchanged, *([unsubscribed(holder)] if holder == link.address else [])]
    if holder is not None:
        return [unsubscribed(holder)]
    return [unchanged if link.is_signed else suppressed([link.address], "UNSUBSCRIBED")]


def _returned(address: str, status: str, state: State) -> State:
    if state.status(address) != "UNSUBSCRIBED":
        return state
    return changed(address, status, by_admin=False, by_person=True)(state)


def _holder(link: Link, ids: Mapping[str, str]) -> str | None:
    """Returns the address of the subscriber of a link, or of the person who has it now."""
    addresses = {id_: address for address, id_ in ids.items()}
    address = addresses.get(link.subscriber_id)
    if address is None and not link.is_signed and link.address in ids:
        return link.address
    return address
