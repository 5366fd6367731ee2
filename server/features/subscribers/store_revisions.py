"""Numbers the changes of an account, so that a client can read all later changes.

A change of a subscriber sets its `revision` to a number that is greater than every earlier one
of the account, in the order of the commits: the account has one writer at a time. A client that
has read all subscribers up to a revision finds every later change after it. A revision is the
time of the change in microseconds, or the last revision plus one if that is greater.
Subscribers that one statement changes share a revision. The greatest revision of deleted
subscribers is kept, so that no revision is used twice.
"""

from __future__ import annotations

from peewee import EXCLUDED, ModelCompoundSelectQuery, Tuple, fn

from ...storage.statements import Dialect, Statement, param, params
from ...storage.transaction import Transaction
from ...values.ids import timestamp_of
from .models import DeletedRevision, Subscriber


def _last(_: Dialect) -> ModelCompoundSelectQuery:
    stored = Subscriber.select(fn.MAX(Subscriber.revision)).where(
        Subscriber.account_id == param("account_id")
    )
    deleted = DeletedRevision.select(DeletedRevision.revision).where(
        DeletedRevision.account_id == param("account_id")
    )
    return stored.union_all(deleted)


_LAST = Statement(_last, has_one_plan=True)
_CHANGED = Statement(
    lambda _: (
        Subscriber.select(Subscriber.revision, Subscriber.id)
        .where(
            (Subscriber.account_id == param("account_id"))
            & (Tuple(Subscriber.revision, Subscriber.id) > Tuple(param("revision"), param("after")))
        )
        .order_by(Subscriber.account_id, Subscriber.revision, Subscriber.id)
        .limit(param("limit"))
    )
)
_KEEP = Statement(
    lambda _: DeletedRevision.insert(
        params(DeletedRevision.account_id, DeletedRevision.revision)
    ).on_conflict(
        conflict_target=[DeletedRevision.account_id],
        update={DeletedRevision.revision: EXCLUDED.revision},
        where=EXCLUDED.revision > DeletedRevision.revision,
    ),
    has_one_plan=True,
)


def last_revision(account_id: str, tx: Transaction) -> int:
    """Returns the greatest revision of the account, or 0. One statement."""
    return max((last for (last,) in tx.all(_LAST, account_id=account_id) if last), default=0)


def next_revision(account_id: str, tx: Transaction) -> int:
    """Returns the revision of a change. One statement."""
    return max(tx.now * 1000, last_revision(account_id, tx) + 1)


def changed_after(
    account_id: str, position: tuple[int, str], limit: int, tx: Transaction
) -> list[tuple[int, str]]:
    """Returns the revisions and IDs of changed subscribers after such a position, in order."""
    revision, after = position
    values = {"revision": revision, "after": after, "limit": limit}
    return tx.all(_CHANGED, account_id=account_id, **values)


def revision_at(subscriber_id: str, revision: int) -> int:
    """Returns the revision of a creation, which is not before the time of its ID."""
    return max(revision, timestamp_of(subscriber_id) * 1000)


def keep_deleted(account_id: str, revision: int, tx: Transaction) -> None:
    """Stores the revision of a deleted subscriber, so that it is not used again."""
    tx.run(_KEEP, account_id=account_id, revision=revision)
