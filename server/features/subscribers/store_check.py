"""Compares the subscribers of an account with their counters, statistics and histories.

A history is compared with its subscriber regardless of the order of its entries, because the
clocks of two processes can differ: every value was set once more than it was replaced if it is the
current one, and otherwise as often.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from ...storage.findings import MALFORMED, Check, Findings
from ...storage.references import Reference
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ...values.ids import timestamp_of
from ...values.texts import json_name
from ..custom_fields.models import CustomField, CustomValue
from ..statistics.rules import QUARTERS_OF_DAY, STATUS, Flow, date_of, quarter_of
from ..statistics.store import flows
from ..tags.models import SubscriberTag, Tag
from .counters.store_recounting import CountedRanges, differing_totals
from .fields import Status
from .history import FIELDS, EntryType
from .models import Subscriber, SubscriberHistory
from .store_revisions import last_revision

# Subscribers that one statement reads.
_PAGE = 2_000
# A clock that was set back leaves revisions in the future. In microseconds.
_CLOCK_TOLERANCE = 24 * 3_600_000_000
_STATUS_NAMES = {str(int(status)): status.name for status in Status}
_FIRST_DAY, _LAST_DAY = 1, 1 << 40

_SUBSCRIBERS = Statement(
    lambda _: (
        Subscriber.select(
            Subscriber.id,
            Subscriber.status,
            Subscriber.revision,
            Subscriber.status_revision,
            Subscriber.inserted_revision,
            Subscriber.origin,
            *[getattr(Subscriber, name) for name in FIELDS],
        )
        .where((Subscriber.account_id == param("account_id")) & (Subscriber.id > param("after")))
        .order_by(Subscriber.account_id, Subscriber.id)
        .limit(param("limit"))
    )
)
_CHANGES = Statement(
    lambda _: SubscriberHistory.select(
        SubscriberHistory.subscriber_id, SubscriberHistory.type, SubscriberHistory.changes
    ).where(
        (SubscriberHistory.account_id == param("account_id"))
        & (SubscriberHistory.subscriber_id >= param("first"))
        & (SubscriberHistory.subscriber_id <= param("last"))
    )
)
_REFERENCES = (
    Reference({SubscriberTag.subscriber_id: Subscriber.id}),
    Reference({SubscriberTag.tag_id: Tag.id}),
    Reference({CustomValue.subscriber_id: Subscriber.id}),
    Reference({CustomValue.key: CustomField.key}),
    Reference({SubscriberHistory.subscriber_id: Subscriber.id}),
)


class _Row(NamedTuple):
    """A stored subscriber; `fields` are the values of FIELDS."""

    id: str
    status: str
    revision: int
    status_revision: int
    inserted_revision: int
    origin: Mapping[str, Any] | None
    fields: Sequence[Any]


# The type of an entry and its changes.
_Change = tuple[str, str]


def check_subscribers(
    account_id: str, tx: Transaction, findings: Findings, *, has_all_flows: bool
) -> int:
    """Adds the differences of an account, and returns the number of its subscribers.

    `has_all_flows` is whether the flows of all of its days were counted.
    """
    ranges, after, total = CountedRanges(account_id, tx), "", 0
    # By quarter hour.
    created, confirmed = Counter[int](), 0
    newest = tx.now * 1000 + _CLOCK_TOLERANCE
    while rows := tx.all(_SUBSCRIBERS, account_id=account_id, after=after, limit=_PAGE):
        ids = [row_id for row_id, *_ in rows]
        total += len(ids)
        ranges.count(ids)
        changes = _changes(account_id, ids, tx)
        for columns in rows:
            try:
                row = _row(columns)
                confirmed += row.status == Status.CONFIRMED.name
                _check_revisions(row, newest, findings)
                _check_history(row, changes[row.id], findings)
                # Versions with this revision count the flows.
                if row.inserted_revision and row.origin is not None:
                    created[quarter_of(row.origin["at"])] += 1
            except MALFORMED:
                findings.add(Check.HISTORY, f"{columns[0]} cannot be read")
        after = ids[-1]
    for difference in ranges.differences():
        findings.add(Check.COUNTERS, difference)
    if last_revision(account_id, tx) > newest:
        findings.add(Check.REVISIONS, "the last revision is in the future")
    _check_totals(account_id, tx, findings)
    expected = {"subscribers": total, "confirmed": confirmed} if has_all_flows else {}
    of_days = flows(account_id, _FIRST_DAY, _LAST_DAY, tx)
    _check_flows(of_days, created, expected, findings)
    _check_quarters(flows(account_id, -_LAST_DAY, -_FIRST_DAY, tx), of_days, created, findings)
    for reference in _REFERENCES:
        count, example = reference.missing(account_id, tx)
        if count:
            findings.add(Check.REFERENCES, f"{reference.name} {example} does not exist", count)
    return total


def _row(columns: Sequence[Any]) -> _Row:
    id_, status, revision, status_revision, inserted_revision, origin, *fields = columns
    entry = None if origin is None else orjson.loads(origin)
    name = Status(status).name
    return _Row(id_, name, revision, status_revision, inserted_revision, entry, fields)


def _changes(
    account_id: str, ids: Sequence[str], tx: Transaction
) -> defaultdict[str, list[_Change]]:
    """Returns the entries of the histories of subscribers with ascending IDs."""
    found: defaultdict[str, list[_Change]] = defaultdict(list)
    bounds = {"first": ids[0], "last": ids[-1]}
    for subscriber_id, *change in tx.all(_CHANGES, account_id=account_id, **bounds):
        found[subscriber_id].append(tuple(change))
    return found


def _check_revisions(row: _Row, newest: int, findings: Findings) -> None:
    # Earlier versions stored the time of creation, which could precede that of the ID.
    oldest = timestamp_of(row.id) * 1000 if row.inserted_revision else 1
    if not oldest <= row.revision <= newest:
        findings.add(Check.REVISIONS, f"{row.id} has the revision {row.revision}")
    elif max(row.status_revision, row.inserted_revision) > row.revision:
        findings.add(Check.REVISIONS, f"{row.id} was changed after its revision")


def _check_history(row: _Row, changes: Iterable[_Change], findings: Findings) -> None:
    if row.origin is None and row.inserted_revision:
        findings.add(Check.HISTORY, f"{row.id} has no entry of its creation")
    if not changes:
        if row.origin is not None and row.origin["status"] != row.status:
            findings.add(Check.HISTORY, f"{row.id} is {row.status}, but was never changed to it")
        return
    current: dict[str, Any] = {"status": row.status}
    for (name, to_json), value in zip(FIELDS.items(), row.fields, strict=True):
        current[json_name(name)] = None if value is None else to_json(value)
    for name, balance in _balances(row, changes).items():
        set_more_often = {value for value, count in balance.items() if count > 0}
        if name in current and not set_more_often <= {current[name]}:
            findings.add(Check.HISTORY, f"{row.id}: {name} differs from the last change")


def _balances(row: _Row, changes: Iterable[_Change]) -> defaultdict[str, Counter[Any]]:
    """Returns how much more often each value was set than replaced, by the name of its field."""
    found: defaultdict[str, Counter[Any]] = defaultdict(Counter)
    if row.origin is not None:
        found["status"][row.origin["status"]] += 1
    for entry_type, text in changes:
        entry = orjson.loads(text)
        if entry_type == EntryType.STATUS_CHANGED and "stated" not in entry:
            found["status"][entry["from"]] -= 1
            found["status"][entry["to"]] += 1
        elif entry_type == EntryType.FIELDS_CHANGED:
            for name, (before, after) in entry.items():
                found[name][before] -= 1
                found[name][after] += 1
    return found


def _check_totals(account_id: str, tx: Transaction, findings: Findings) -> None:
    for name, (stored, counted) in differing_totals(account_id, tx).items():
        check = Check.STATUS_TOTALS if name.startswith(STATUS) else Check.TAG_TOTALS
        findings.expect(check, _total_name(name), stored, counted)


def _total_name(name: str) -> str:
    """Returns the name of a total in words: a status, or the ID of a tag and a status."""
    prefix, *tag, status = name.split(":")
    words = [*(f"{prefix} {tag_id}" for tag_id in tag), _STATUS_NAMES.get(status, status)]
    return ", ".join(words)


def _check_flows(
    stored: Mapping[tuple[int, str], int],
    created: Mapping[int, int],
    expected: Mapping[str, int],
    findings: Findings,
) -> None:
    """Compares flows with the days of creation of the subscribers, and with the totals."""
    by_day = Counter[int]()
    for quarter, count in created.items():
        by_day[quarter // QUARTERS_OF_DAY] += count
    for day, count in by_day.items():
        flow = stored.get((day, Flow.CREATED), 0) + stored.get((day, Flow.IMPORTED), 0)
        if flow < count:
            text = f"{date_of(day)} has {flow} creations, expected at least {count}"
            findings.add(Check.FLOWS, text)
    if expected:
        sums: Counter[str] = Counter()
        for (_, name), count in stored.items():
            sums[name] += count
        remaining = sums[Flow.CREATED] + sums[Flow.IMPORTED] - sums[Flow.DELETED]
        for name, found in (("subscribers", remaining), ("confirmed", sums[Flow.GROWTH])):
            findings.expect(Check.FLOWS, f"the sum of {name}", found, expected[name])


def _check_quarters(
    stored: Mapping[tuple[int, str], int],
    of_days: Mapping[tuple[int, str], int],
    created: Mapping[int, int],
    findings: Findings,
) -> None:
    """Compares the flows of quarter hours with those of their days and with the creations.

    Earlier versions counted days only, so a day can have more than its quarter hours.
    """
    timed = Counter[tuple[int, str]]()
    for (period, name), count in stored.items():
        timed[-period // QUARTERS_OF_DAY, name] += count
    for (day, name), count in timed.items():
        if name != Flow.GROWTH and count > of_days.get((day, name), 0):
            text = f"the quarter hours of {date_of(day)} have {count} {name}, more than the day"
            findings.add(Check.FLOWS, text)
    creations = (Flow.CREATED, Flow.IMPORTED)
    for quarter, count in created.items():
        day = quarter // QUARTERS_OF_DAY
        is_timed = all(timed[day, name] == of_days.get((day, name), 0) for name in creations)
        if is_timed and sum(stored.get((-quarter, name), 0) for name in creations) < count:
            text = f"a quarter hour of {date_of(day)} has fewer than its {count} creations"
            findings.add(Check.FLOWS, text)
