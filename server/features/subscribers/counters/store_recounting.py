"""Compares the counters and the totals of an account with a count."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from peewee import SQL, ModelSelect, fn

from ....storage.statements import Statement, param
from ....storage.transaction import Transaction
from ...statistics.rules import STATUS, TAG, TOTALS
from ...statistics.store import add, totals
from ...tags.models import IS_DELETED_TAG, SubscriberTag, Tag
from ..models import Subscriber, SubscriberBucket
from .store_counting import BUCKET, GROUP, OPEN_BUCKET, by_range

_IN_ACCOUNT = Subscriber.account_id == param("account_id")
_COUNT = fn.COUNT(SQL("1"))
_LEVELS = {BUCKET: "bucket", GROUP: "bucket group"}

_COUNTERS = Statement(
    lambda _: SubscriberBucket.select(
        SubscriberBucket.level, SubscriberBucket.first_id, SubscriberBucket.total
    ).where(SubscriberBucket.account_id == param("account_id"))
)
_BY_STATUS = Statement(
    lambda _: (
        Subscriber.select(Subscriber.status, _COUNT).where(_IN_ACCOUNT).group_by(Subscriber.status)
    )
)
_WITH_STATUS = Statement(
    lambda _: Subscriber.select(_COUNT).where(_IN_ACCOUNT & (Subscriber.status == param("status")))
)


def _tagged(*columns: object) -> ModelSelect[SubscriberTag]:
    of_subscriber = _IN_ACCOUNT & (Subscriber.id == SubscriberTag.subscriber_id)
    return (
        SubscriberTag.select(*columns, _COUNT)
        .join(Subscriber, on=of_subscriber)
        .where(SubscriberTag.account_id == param("account_id"))
    )


_BY_TAG = Statement(
    lambda _: _tagged(SubscriberTag.tag_id, Subscriber.status).group_by(
        SubscriberTag.tag_id, Subscriber.status
    )
)
_WITH_TAG = Statement(
    lambda _: _tagged().where(
        (SubscriberTag.tag_id == param("tag_id")) & (Subscriber.status == param("status"))
    )
)
_DELETED_TAGS = Statement(
    lambda _: Tag.select(Tag.id).where((Tag.account_id == param("account_id")) & IS_DELETED_TAG)
)


class CountedRanges:
    """The counters of an account, and a count of the subscribers in each range."""

    def __init__(self, account_id: str, tx: Transaction) -> None:
        stored: defaultdict[int, dict[str, int]] = defaultdict(dict)
        for level, first_id, total in tx.all(_COUNTERS, account_id=account_id):
            stored[level][first_id] = total
        self._stored = stored
        self._totals = {level: {"": 0} | stored[level] | stored[OPEN_BUCKET] for level in _LEVELS}
        self._first_ids = {level: sorted(found) for level, found in self._totals.items()}
        self._counted = {level: Counter[str]() for level in _LEVELS}

    def count(self, ids: Sequence[str]) -> None:
        """Counts subscribers."""
        for level, first_ids in self._first_ids.items():
            self._counted[level] += by_range(ids, first_ids)

    def differences(self) -> Iterator[str]:
        """Yields the ranges whose stored number differs from the count, or that should not be."""
        for level, name in _LEVELS.items():
            for first_id, total in self._totals[level].items():
                counted = self._counted[level][first_id]
                if total != counted:
                    yield f"{name} {first_id or 'first'} is {total}, expected {counted}"
        for first_id in self._stored[GROUP].keys() - self._stored[BUCKET].keys():
            yield f"bucket group {first_id} has no bucket"
        if len(self._stored[OPEN_BUCKET]) > 1:
            yield "several buckets are open"


def differing_totals(account_id: str, tx: Transaction) -> dict[str, tuple[int, int]]:
    """Returns the totals that differ from a count, by name: the stored and the counted number.

    Those of tags that are being deleted are not compared: they are removed with the last link.
    """
    stored = totals(account_id, "", tx)
    counted = {
        f"{STATUS}{status}": count for status, count in tx.all(_BY_STATUS, account_id=account_id)
    }
    for tag_id, status, count in tx.all(_BY_TAG, account_id=account_id):
        counted[f"{TAG}{tag_id}:{status}"] = count
    deleted = tuple(f"{TAG}{tag}:" for (tag,) in tx.all(_DELETED_TAGS, account_id=account_id))
    return {
        name: (stored.get(name, 0), counted.get(name, 0))
        for name in sorted(stored.keys() | counted.keys())
        if stored.get(name, 0) != counted.get(name, 0) and not name.startswith(deleted)
    }


def recount_total(account_id: str, name: str, tx: Transaction) -> None:
    """Counts the subscribers of a total again, and stores their number."""
    *_, key, status = name.split(":")
    values = {"account_id": account_id, "status": int(status)}
    if name.startswith(TAG):
        counted = tx.scalar(_WITH_TAG, tag_id=key, **values)
    else:
        counted = tx.scalar(_WITH_STATUS, **values)
    stored = totals(account_id, name, tx).get("", 0)
    add(account_id, {(TOTALS, name): int(counted) - stored}, tx)
