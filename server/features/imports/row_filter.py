"""Selects the rows of an import that match a filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..subscribers.query.evaluation import matches
from ..subscribers.query.plan import read_in_order
from ..subscribers.rules import Failure, NewSubscriber, RowError, Validated, is_stricter
from .store_seen import SeenRows

_FILTERED = RowError(Failure.FILTERED)


class RowFilter:
    """The filter of one import, and what its rows state about the same address.

    Of the rows with the same address, the strictest status is stored, also if the filter skips
    the row that states it. Rows must be given in their order.
    """

    def __init__(self, tree: Any) -> None:
        self._tree = read_in_order(tree)
        # By address: rows that match, and the strictest opt-outs of rows that were skipped.
        self._matches, self._opt_outs = SeenRows(), SeenRows()

    def apply(self, validated: Sequence[Validated], now: int) -> list[Validated]:
        """Returns the rows, and FILTERED for valid ones that do not match the filter.

        A row that matches has the status of earlier opt-outs of its address. FILTERED contains the
        opt-out of a row if an earlier row of its address matches.
        """
        return [row if isinstance(row, RowError) else self._apply(row, now) for row in validated]

    def _apply(self, row: NewSubscriber, now: int) -> Validated:
        earlier = self._opt_outs.find(row.email)
        strictest = row
        if earlier is not None and is_stricter(earlier.status, row.status):
            strictest = _with_opt_out(row, earlier)
        if matches(self._tree, row, now):
            self._matches.add([_without_fields(strictest)])
            return strictest
        if not row.is_opt_out:
            return _FILTERED
        opt_out = _without_fields(strictest)
        self._opt_outs.add([opt_out])
        has_match = self._matches.find(row.email) is not None
        return _FILTERED._replace(opt_out=opt_out) if has_match else _FILTERED


def _without_fields(row: NewSubscriber) -> NewSubscriber:
    return row._replace(profile={}, tags={}, values={}, dropped=())


def _with_opt_out(row: NewSubscriber, opt_out: NewSubscriber) -> NewSubscriber:
    record = row.consent_record._replace(
        status_changed_at=opt_out.consent_record.status_changed_at,
        unsubscribed_at=opt_out.consent_record.unsubscribed_at,
    )
    return row._replace(status=opt_out.status, has_status=True, consent_record=record)
