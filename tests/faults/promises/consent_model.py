"""A model of consent: the statuses of some addresses, and how each operation changes them.

It shares no code with the server. A state is what the service may have stored; after an operation
with an unknown outcome there are several possible states.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

UNCONFIRMED, CONFIRMED = "UNCONFIRMED", "CONFIRMED"
OPT_OUTS = ("UNSUBSCRIBED", "BOUNCED", "COMPLAINED")
STATUSES = (UNCONFIRMED, CONFIRMED, *OPT_OUTS)
# How far mail to a subscriber is allowed. No status, or an opt-out, is 0.
LEVELS = {UNCONFIRMED: 1, CONFIRMED: 2}
TRANSITIONS: Mapping[str, Sequence[str]] = {
    UNCONFIRMED: STATUSES,
    CONFIRMED: (CONFIRMED, *OPT_OUTS),
    "UNSUBSCRIBED": ("UNSUBSCRIBED", "COMPLAINED", UNCONFIRMED, CONFIRMED),
    "BOUNCED": ("BOUNCED", "UNSUBSCRIBED", "COMPLAINED", UNCONFIRMED, CONFIRMED),
    "COMPLAINED": ("COMPLAINED",),
}
STRICTNESS = {UNCONFIRMED: 0, CONFIRMED: 0, "BOUNCED": 1, "UNSUBSCRIBED": 2, "COMPLAINED": 3}


Change = Callable[["State"], "State"]


class State(NamedTuple):
    """The status of each subscriber by address, and the suppressed addresses.

    `after_bounce` are the addresses of subscribers who were BOUNCED before they were UNSUBSCRIBED.
    `undoable` are changes of statuses by batch operations, which their undo can return: the
    address, the key of the operation and the status before. It ends when any other call states or
    changes the status.
    """

    statuses: frozenset[tuple[str, str]] = frozenset()
    suppressed: frozenset[str] = frozenset()
    after_bounce: frozenset[str] = frozenset()
    undoable: frozenset[tuple[str, str, str]] = frozenset()

    def status(self, address: str) -> str | None:
        return dict(self.statuses).get(address)

    def put(self, address: str, status: str | None) -> State:
        before = self.status(address)
        statuses = {**dict(self.statuses), address: status}
        kept = frozenset((key, value) for key, value in statuses.items() if value is not None)
        after_bounce = self.after_bounce if status == before else self.after_bounce - {address}
        if (before, status) == ("BOUNCED", "UNSUBSCRIBED"):
            after_bounce |= {address}
        state = self._replace(statuses=kept, after_bounce=after_bounce)
        return state if status == before else state.state_again(address)

    def state_again(self, address: str) -> State:
        """Returns the state after the status of an address was stated again."""
        left = frozenset(each for each in self.undoable if each[0] != address)
        return self._replace(undoable=left)

    def put_after_bounce(self, address: str) -> State:
        """Returns the state if the subscriber was BOUNCED before it was UNSUBSCRIBED."""
        is_opt_out = self.status(address) == "UNSUBSCRIBED"
        return self.put(address, "BOUNCED").put(address, "UNSUBSCRIBED") if is_opt_out else self

    def suppress(self, address: str) -> State:
        return self._replace(suppressed=self.suppressed | {address})


class Row(NamedTuple):
    """A row of a bulk or an import. Without a status, `is_confirmed` decides."""

    address: str
    status: str | None = None
    is_confirmed: bool = False

    @property
    def initial(self) -> str:
        return self.status or (CONFIRMED if self.is_confirmed else UNCONFIRMED)


def unchanged(state: State) -> State:
    return state


def stricter(state: State, address: str, status: str) -> State:
    """A subscriber takes a status if that is stricter."""
    before = state.status(address)
    is_stricter = before is not None and STRICTNESS[status] > STRICTNESS[before]
    if is_stricter:
        return state.put(address, status)
    return state.state_again(address) if {before, status} <= {*OPT_OUTS} else state


def stored(rows: Iterable[Row], *, updates: bool = False) -> Change:
    """Rows create subscribers, with the strictest of their statuses.

    If they update existing ones, these take a stricter status.
    """

    def after(state: State) -> State:
        created = set()
        for row in rows:
            before = state.status(row.address)
            if before is None and row.address not in state.suppressed:
                state = state.put(row.address, row.initial)
                created.add(row.address)
            elif row.status is not None and (updates or row.address in created):
                state = stricter(state, row.address, row.status)
        return state

    return after


def signed_up(address: str, mailbox: Sequence[str]) -> Change:
    """A person signs up, unless their mailbox has a subscriber. The first spelling is canonical."""

    def after(state: State) -> State:
        is_known = any(state.status(each) is not None for each in mailbox)
        is_suppressed = not state.suppressed.isdisjoint((address, *mailbox[:1]))
        return state if is_known or is_suppressed else state.put(address, UNCONFIRMED)

    return after


def moved(address: str, to: str) -> Change:
    """A subscriber gets another address. A confirmation and a bounce belong to the old one."""

    def after(state: State) -> State:
        status = state.status(address)
        is_free = state.status(to) is None and to not in state.suppressed
        if status is None or to == address or not is_free:
            return state
        if status in OPT_OUTS:
            state = state.suppress(address)
        new = status if status in ("UNSUBSCRIBED", "COMPLAINED") else UNCONFIRMED
        moved_bounce = frozenset({to} if address in state.after_bounce else ())
        state = state.put(address, None).put(to, new)
        return state._replace(after_bounce=state.after_bounce | moved_bounce)

    return after


def changed(address: str, status: str, *, by_admin: bool, by_person: bool = False) -> Change:
    """An explicit change of a status, the only one that can end an opt-out."""

    def after(state: State) -> State:
        before = state.status(address)
        if before is None:
            return state
        is_undone = by_admin and before == "COMPLAINED"
        is_allowed = status in TRANSITIONS[before] or is_undone
        # A suppressed subscriber stays opted out.
        if address in state.suppressed and status in LEVELS:
            return state
        if address in state.after_bounce and status in LEVELS and not by_person:
            return state
        if before == status and status in OPT_OUTS:
            return state.state_again(address)
        return state.put(address, status) if is_allowed else state

    return after


def changed_by_operation(key: str, address: str, change: Change) -> Change:
    """A change of a status by a batch operation, which can be undone."""

    def after(state: State) -> State:
        before, state = state.status(address), change(state)
        if before in (None, state.status(address)):
            return state
        return state._replace(undoable=state.undoable | {(address, key, str(before))})

    return after


def undone(key: str, address: str, state: State) -> Iterable[State]:
    """Returns the possible states after the undo of a batch operation for an address.

    A suppressed subscriber stays opted out.
    """
    for changed_address, changed_by, before in state.undoable:
        is_kept = address in state.suppressed and before in LEVELS
        if (changed_address, changed_by) == (address, key) and not is_kept:
            return [state, state.put(address, before)]
    return [state]


def confirmed(address: str) -> Change:
    """The person confirms, with a link that was created for the current state."""
    return changed(address, CONFIRMED, by_admin=False, by_person=True)


def unsubscribed(address: str) -> Change:
    return lambda state: stricter(state, address, "UNSUBSCRIBED")


def deleted(address: str) -> Change:
    def after(state: State) -> State:
        if state.status(address) in OPT_OUTS:
            state = state.suppress(address)
        return state.put(address, None)

    return after


def selected(address: str, statuses: Collection[str], change: Change) -> Change:
    """A change of one address by a batch operation, which selects these statuses."""

    def after(state: State) -> State:
        return change(state) if state.status(address) in statuses else state

    return after


def all_of(changes: Iterable[Change]) -> Change:
    """Changes one after another."""
    return lambda state: reduce(lambda before, change: change(before), changes, state)


def suppressed(addresses: Iterable[str], reason: str) -> Change:
    """Addresses are suppressed, and their subscribers take a stricter status."""
    status = "UNSUBSCRIBED" if reason == "MANUAL" else reason

    def after(state: State) -> State:
        for address in addresses:
            state = stricter(state.suppress(address), address, status)
        return state

    return after


def lifted(address: str) -> Change:
    def after(state: State) -> State:
        return state._replace(suppressed=state.suppressed - {address})

    return after
