"""Parses the lines of a suppression list in CSV."""

from __future__ import annotations

from collections.abc import Sequence

from ..emails import parse_email
from ..texts import column_key
from ..timestamps import is_valid_time, parse_timestamp
from ..unrecognized import UnrecognizedCells
from .rules import Reason, Row

EMAIL, REASON, CREATED_AT = "email", "reason", "createdAt"
HEADER = ("emailHash", REASON, CREATED_AT)
# The columns of common services, by `column_key`: Amazon SES, Mailchimp, Mailgun, Postmark and
# SendGrid.
_COLUMNS = {
    **dict.fromkeys(("email", "emailaddress", "address", "recipient"), EMAIL),
    **dict.fromkeys(("reason", "suppressionreason"), REASON),
    **dict.fromkeys(
        ("createdat", "created", "date", "lastupdatetime", "unsubtime", "cleantime"), CREATED_AT
    ),
}
_REASONS = {
    **dict.fromkeys(("unsubscribed", "unsubscribe", "optout", "optedout"), Reason.UNSUBSCRIBED),
    **dict.fromkeys(("bounced", "bounce", "hardbounce", "cleaned"), Reason.BOUNCED),
    **dict.fromkeys(
        ("complained", "complaint", "spamcomplaint", "spamreport", "spam", "abuse"),
        Reason.COMPLAINED,
    ),
    **dict.fromkeys(("manual", "manualsuppression", "blocked"), Reason.MANUAL),
}


class Columns:
    """The columns of a file. Of several columns for one field, the first one counts.

    A file without a header has the address in the first column. An unknown reason or time is
    collected and ignored, so that the address is suppressed nevertheless.
    """

    def __init__(self, first_line: Sequence[str]) -> None:
        self._names = first_line
        self._positions: dict[str, int] = {}
        self.ignored: list[str] = []
        self.unrecognized = UnrecognizedCells()
        self.has_header = not first_line or parse_email(first_line[0]) is None
        if not self.has_header:
            self._names = [f"column {number}" for number in range(1, len(first_line) + 1)]
            self._positions[EMAIL] = 0
            self.ignored += self._names[1:]
            return
        for position, name in enumerate(first_line):
            field = _COLUMNS.get(column_key(name))
            if field is None or field in self._positions:
                self.ignored.append(name)
            else:
                self._positions[field] = position

    @property
    def has_email(self) -> bool:
        return EMAIL in self._positions

    def row(self, line: int, cells: Sequence[str], now: int) -> Row:
        row = Row(line, self._cell(EMAIL, cells))
        text = self._cell(REASON, cells)
        reason = _REASONS.get(column_key(text))
        if text and reason is None:
            self._reject(REASON, text)
        text = self._cell(CREATED_AT, cells)
        time = parse_timestamp(text) if text else None
        if time is not None and not is_valid_time(time, now):
            time = None
        if text and time is None:
            self._reject(CREATED_AT, text)
        return row._replace(reason=reason, created_at=time)

    def _cell(self, field: str, cells: Sequence[str]) -> str:
        position = self._positions.get(field, len(cells))
        return cells[position].strip() if position < len(cells) else ""

    def _reject(self, field: str, cell: str) -> None:
        self.unrecognized.add(self._names[self._positions[field]], cell)
