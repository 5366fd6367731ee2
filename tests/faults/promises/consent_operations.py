"""Generates operations on some addresses, each with its change of the model."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from typing import Any

from .consent_files import File, Files, Line
from .consent_links import Links
from .consent_model import (
    CONFIRMED,
    OPT_OUTS,
    STATUSES,
    UNCONFIRMED,
    Change,
    Row,
    State,
    all_of,
    changed,
    changed_by_operation,
    confirmed,
    deleted,
    lifted,
    moved,
    selected,
    signed_up,
    stored,
    suppressed,
    unchanged,
    undone,
    unsubscribed,
)

BATCH, UNDO = "BatchChangeSubscribers", "UndoOperation"
# The key of a custom field.
PLAN = "plan"
CONFLICTS = ("FAIL", "SKIP", "UPDATE", "UPDATE")


@dataclass(frozen=True, eq=False)
class Operation:
    """A request, and its change unless the request is rejected.

    An import has a table or rows. They are lines of text, and the request has its options. One of
    the other `outcomes` can happen instead of the change. A `link` is the purpose of a link that
    is created for the address `id` and followed. A batch operation has `parts`, one for each
    address: others that run at the same time come between them. `undo_of` is the batch operation
    that is undone.
    """

    rpc: str
    request: Mapping[str, Any]
    after: Change
    table: Sequence[Line] = ()
    rows: Sequence[Mapping[str, Any]] = ()
    outcomes: Callable[[State], Iterable[State]] | None = None
    by_admin: bool = False
    idempotency_key: str = ""
    link: str = ""
    parts: Sequence[Operation] = ()
    undo_of: Operation | None = None

    def __str__(self) -> str:
        return f"{self.rpc} {self.request} {list(self.rows or self.table)}"

    def repeated(self) -> Operation:
        return replace(self, after=unchanged, outcomes=None, parts=())

    @property
    def is_json(self) -> bool:
        """Whether the rows can have values that are not valid in messages of gRPC."""
        return bool(self.rows) and self.outcomes is not None

    def possible_after(self, state: State) -> Iterable[State]:
        return [self.after(state)] if self.outcomes is None else self.outcomes(state)


class Operations:
    """Generates operations on these addresses at random."""

    def __init__(self, addresses: Sequence[str], rng: random.Random, links: Links) -> None:
        self._addresses = addresses
        self._rng = rng
        self._links = links
        self._files = Files(rng, self._address)
        # The IDs of the subscribers by address.
        self.ids: Mapping[str, str] = {}
        self._acknowledged: list[Operation] = []
        # The changes of statuses that have ended.
        self._batches: list[Operation] = []
        self._count = 0

    def next(self) -> Operation:
        # Imports of existing addresses are the writes that could most easily undo an opt-out.
        kinds: list[Callable[[], Operation]] = [
            self._create,
            *[self._bulk] * 2,
            *[self._upsert] * 2,
            *[self._import_rows] * 3,
            *[self._import_file] * 4,
            *[self._update] * 2,
            self._tag,
            *[self._change_status] * 3,
            *[self._batch] * 4,
            *[self._follow_link] * 2,
            self._sign_up,
            self._delete,
            self._lift,
            self._suppress,
        ]
        if self.ids:
            kinds += [self._reset] * 3
        if self._links.links:
            kinds += [self._click] * 10
        if self._acknowledged:
            kinds.append(self._repeat)
        if self._batches:
            kinds += [self._undo] * 4
        self._count += 1
        return self._rng.choice(kinds)()

    def acknowledge(self, operation: Operation) -> None:
        """Makes a successful operation one that can be repeated later."""
        if operation.idempotency_key:
            self._acknowledged.append(operation)
        if operation.rpc == BATCH and "changeStatus" in operation.request["action"]:
            self._batches.append(operation)

    def _create(self) -> Operation:
        row = self._row()
        request = {"email": self._spelled(row.address), "isConfirmed": row.is_confirmed}
        return self._with_key(Operation("CreateSubscriber", request, stored([row])))

    def _bulk(self) -> Operation:
        rows = self._rows()
        sent = [
            {"email": self._spelled(row.address), "isConfirmed": row.is_confirmed} for row in rows
        ]
        request = {"subscribers": sent, "onConflict": self._rng.choice(CONFLICTS)}
        return self._with_key(Operation("BulkCreateSubscribers", request, stored(rows)))

    def _upsert(self) -> Operation:
        row = self._row()
        request = {"id": row.address, "allowMissing": True, "isConfirmed": row.is_confirmed}
        if self._rng.random() < 0.5:
            request["email"] = self._spelled(row.address)
        return self._with_key(Operation("UpdateSubscriber", request, stored([row])))

    def _import_rows(self) -> Operation:
        rows = [row._replace(status=self._rng.choice([*STATUSES, None])) for row in self._rows()]
        sent = []
        for row in rows:
            stated: dict[str, Any] = {"status": row.status} if row.status else {}
            if self._rng.random() < 0.5:
                # A batch operation that runs meanwhile must not depend on it.
                created = date(2020, 1, 1) + timedelta(days=self._rng.randint(1, 1_000))
                stated["createdAt"] = f"{created}T00:00:00Z"
            if row.is_confirmed or self._rng.random() < 0.5:
                stated["isConfirmed"] = row.is_confirmed
            sent.append({"email": self._spelled(row.address), **stated})
        options = self._import_options()
        if options["isConfirmed"]:
            rows = [
                row if "isConfirmed" in given else row._replace(is_confirmed=True)
                for row, given in zip(rows, sent, strict=True)
            ]
        updates = options["onConflict"] == "UPDATE"
        after = unchanged if options["dryRun"] else stored(rows, updates=updates)
        return Operation("ImportSubscribers", options, after, rows=sent)

    def _import_file(self) -> Operation:
        new = self._rng.choice([self._files.table, self._files.table, self._files.json_lines])
        file: File = new(self._import_options(), self._spelled)
        return Operation(
            "ImportSubscribers",
            file.options,
            unchanged,
            table=file.lines,
            rows=file.objects,
            outcomes=file.outcomes,
        )

    def _import_options(self) -> Mapping[str, Any]:
        return {
            "onConflict": self._rng.choice(CONFLICTS),
            "dryRun": self._rng.random() < 0.1,
            "isConfirmed": self._rng.random() < 0.5,
        }

    def _update(self) -> Operation:
        address, to = self._address(), self._address()
        request: dict[str, Any] = {"id": address, "firstName": self._rng.choice("ab")}
        if self._rng.random() < 0.7:
            request["email"] = self._spelled(to)
        else:
            to = address
        return Operation("UpdateSubscriber", request, moved(address, to))

    def _tag(self) -> Operation:
        rpc = self._rng.choice(["AddSubscriberTags", "RemoveSubscriberTags"])
        request = {"id": self._address(), "tags": ["vip"]}
        return self._with_key(Operation(rpc, request, unchanged))

    def _change_status(self) -> Operation:
        address, by_admin = self._address(), self._rng.random() < 0.5
        # More often an opt-out, which the other operations must not end.
        status = self._rng.choice([*STATUSES, *OPT_OUTS])
        after = changed(address, status, by_admin=by_admin)
        request = {"id": address, "status": status}
        return Operation("ChangeSubscriberStatus", request, after, by_admin=by_admin)

    def _reset(self) -> Operation:
        """Resets a bounce, or what a program takes for one."""
        address, status = self._rng.choice([*self.ids]), self._rng.choice([CONFIRMED, UNCONFIRMED])
        request = {"id": address, "status": status}
        after = changed(address, status, by_admin=False)
        return Operation("ChangeSubscriberStatus", request, after)

    def _batch(self) -> Operation:
        text, addresses, statuses = self._filter()
        by_admin = self._rng.random() < 0.5
        status = self._rng.choice([*STATUSES, CONFIRMED, UNCONFIRMED])

        def change_status(address: str) -> Change:
            change = changed(address, status, by_admin=by_admin)
            return changed_by_operation(self._key(), address, change)

        changes: dict[str, tuple[Any, Callable[[str], Change]]] = {
            "addTags": (["vip"], lambda _: unchanged),
            "setCustomFields": ({PLAN: self._rng.choice("ab")}, lambda _: unchanged),
            "delete": (True, deleted),
            "changeStatus": (status, change_status),
        }
        name = self._rng.choice([*changes, *["changeStatus"] * 3])
        value, change = changes[name]
        request = {"filter": text, "action": {name: value}}
        afters = [selected(each, statuses, change(each)) for each in addresses]
        parts = [Operation("part", {}, after) for after in afters]
        batch = Operation(BATCH, request, all_of(afters), by_admin=by_admin, parts=parts)
        return self._with_key(batch)

    def _undo(self) -> Operation:
        """Undoes one of the last batch operations, to which statuses still belong more often."""
        undo_of = self._rng.choice(self._batches[-2:])
        parts = []
        for each in self._addresses:
            outcomes = partial(undone, undo_of.idempotency_key, each)
            parts.append(Operation("part", {}, unchanged, outcomes=outcomes))
        undo = Operation(UNDO, {}, unchanged, by_admin=True, parts=parts, undo_of=undo_of)
        return self._with_key(undo)

    def _filter(self) -> tuple[str, Sequence[str], Sequence[str]]:
        """Returns a filter, and the addresses and statuses that it selects."""
        own = self._addresses[0].partition("-")[0]
        text, addresses = f'email = "{own}-*"', self._addresses
        if self._rng.random() < 0.3:
            address = self._address()
            text, addresses = f'email = "{self._spelled(address).strip()}"', [address]
        status = self._rng.choice(STATUSES)
        without = [each for each in STATUSES if each != status]
        conditions = {"": STATUSES, f" AND status = {status}": [status]}
        conditions[f" AND NOT status = {status}"] = without
        condition = self._rng.choice([*conditions])
        return f"{text}{condition}", addresses, conditions[condition]

    def _follow_link(self) -> Operation:
        address, purpose = self._address(), self._rng.choice(["CONFIRM", "UNSUBSCRIBE"])
        after = confirmed(address) if purpose == "CONFIRM" else unsubscribed(address)
        return Operation("FollowLink", {"id": address}, after, link=purpose)

    def _click(self) -> Operation:
        """Follows a link of an earlier step."""
        click = self._links.click(self.ids)

        def outcomes(state: State) -> Iterable[State]:
            return [change(state) for change in click.changes]

        return Operation(click.rpc, click.request, unchanged, outcomes=outcomes)

    def _sign_up(self) -> Operation:
        address = self._address()
        request = {"email": self._spelled(address)}
        # The first address has a mailbox of its own, the others are spellings of one.
        mailbox = [address] if address == self._addresses[0] else self._addresses[1:]
        return self._with_key(Operation("SignUp", request, signed_up(address, mailbox)))

    def _delete(self) -> Operation:
        address = self._address()
        request = {"id": address, **({"erase": True} if self._rng.random() < 0.3 else {})}
        return Operation("DeleteSubscriber", request, deleted(address))

    def _lift(self) -> Operation:
        address = self._address()
        request = {"id": address}
        return Operation("DeleteSuppression", request, lifted(address), by_admin=True)

    def _suppress(self) -> Operation:
        addresses = [self._address() for _ in range(self._rng.randint(1, 2))]
        reason = self._rng.choice([*OPT_OUTS, "MANUAL"])
        request = {"emails": [self._spelled(address) for address in addresses], "reason": reason}
        after = suppressed(addresses, reason)
        return self._with_key(Operation("AddSuppressions", request, after))

    def _repeat(self) -> Operation:
        return self._rng.choice(self._acknowledged).repeated()

    def _address(self) -> str:
        return self._rng.choice(self._addresses)

    def _spelled(self, address: str) -> str:
        """Returns an address in one of its spellings."""
        return self._rng.choice([address, address.upper(), f" {address.title()}"])

    def _row(self) -> Row:
        return Row(self._address(), is_confirmed=self._rng.random() < 0.5)

    def _rows(self) -> list[Row]:
        return [self._row() for _ in range(self._rng.randint(1, 3))]

    def _with_key(self, operation: Operation) -> Operation:
        return replace(operation, idempotency_key=self._key())

    def _key(self) -> str:
        return f"{self._addresses[0]}-{self._count}"
