"""Selects the rows of an import that match a filter."""

from __future__ import annotations

from collections.abc import Sequence

from ..filters.evaluation import matches
from ..filters.expression import FilterExpression
from ..rules import Failure, NewSubscriber, RowError, Validated, is_stricter
from .store_seen import SeenRows

_FILTERED = RowError(Failure.FILTERED)


class RowFilter:
    """The filter of one import, and the opt-outs of the rows that it skipped.

    Of the rows with the same address, the strictest status is stored, also if the filter skips
    the row that states it. Rows must be given in their order.
    """

    def __init__(self, expression: FilterExpression) -> None:
        self._expression = expression
        self._opt_outs = SeenRows()
        self._has_opt_outs = False

    def apply(self, validated: Sequence[Validated], now: int) -> list[Validated]:
        """Returns the rows, and FILTERED for valid ones that do not match the filter.

        Rows that match have the status of earlier opt-outs that were skipped. Later ones are
        in their RowError.
        """
        return [row if isinstance(row, RowError) else self._apply(row, now) for row in validated]

    def _apply(self, row: NewSubscriber, now: int) -> Validated:
        if matches(self._expression, row, now):
            return self._with_opt_out(row)
        if not row.is_opt_out:
            return _FILTERED
        opt_out = self._with_opt_out(row._replace(profile={}, tags={}, values={}, dropped=()))
        self._opt_outs.add([opt_out])
        self._has_opt_outs = True
        return RowError(Failure.FILTERED, opt_out=opt_out)

    def _with_opt_out(self, row: NewSubscriber) -> NewSubscriber:
        """Returns a row with the status of earlier opt-outs of its address, if that is stricter."""
        earlier = self._opt_outs.find(row.email) if self._has_opt_outs else None
        if earlier is None or not is_stricter(earlier.status, row.status):
            return row
        record = row.consent_record._replace(
            status_changed_at=earlier.consent_record.status_changed_at,
            unsubscribed_at=earlier.consent_record.unsubscribed_at,
        )
        return row._replace(status=earlier.status, has_status=True, consent_record=record)
