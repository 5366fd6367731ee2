"""Parses the lines of a suppression list in CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...rpc.errors import Detail, ValidationError
from ...rpc.file_columns import (
    AROUND_MALFORMED,
    check_header,
    column_name,
    mapped_columns,
    null_key,
)
from ...values.file_addresses import all_addresses, parse_file_email
from ...values.file_dates import DateFormat, UnknownDate, parse_time
from ...values.texts import column_key, word_key
from ...values.unrecognized import UnrecognizedCells
from .rules import Reason, Row

EMAIL, REASON, CREATED_AT = "email", "reason", "createdAt"
_TARGETS = {"": ""} | {column_key(field): field for field in (EMAIL, REASON, CREATED_AT)}
HEADER = ("emailHash", REASON, CREATED_AT)
# The columns of common services, by `column_key`: Amazon SES, Brevo, Mailchimp, Mailgun, Postmark
# and SendGrid; and of spreadsheets in several languages.
_COLUMNS = {
    name: field
    for field, names in {
        EMAIL: "email emailaddress address recipient recipientaddress mail emailadresse"
        " adresseemail courriel correo correoelectrónico indirizzoemail endereçodeemail emailadres"
        " adresemail epost epostadress メールアドレス 邮箱 이메일 электроннаяпочта",
        REASON: "reason suppressionreason reason.code grund sperrgrund motif raison motivo reden"
        " powód orsak 理由",
        CREATED_AT: "createdat created date lastupdatetime blockedat unsubtime cleantime datum"
        " fecha",
    }.items()
    for name in names.split()
}
REASONS = {
    word: reason
    for reason, words in {
        Reason.UNSUBSCRIBED: "unsubscribed unsubscribe optout optedout unsubscribedviama"
        " unsubscribedviaemail unsubscribedviaapi abgemeldet abmeldung désabonné désinscrit"
        " desuscrito baja disiscritto afgemeld descadastrado wypisany avregistrerad 配信停止 退订",
        Reason.BOUNCED: "bounced bounce hardbounce cleaned unzustellbar",
        Reason.COMPLAINED: "complained complaint spamcomplaint spamreport spam abuse"
        " contactflaggedasspam beschwerde plainte queja",
        Reason.MANUAL: "manual manualsuppression blocked adminblocked gesperrt",
    }.items()
    for word in words.split()
}


class CellOptions(NamedTuple):
    """The options of an import that apply to columns and cells."""

    column_map: Sequence[str] = ()
    date_format: DateFormat | None = None
    null_keys: frozenset[str] = frozenset()


class Columns:
    """The columns of a file. Of several columns for one field, the first one counts.

    In a file without a header, addresses are in all columns, unless the map names the position of
    one. An unknown reason or time is reported and ignored: the address is still suppressed.
    """

    def __init__(self, first_line: Sequence[str], options: CellOptions) -> None:
        """Raises ValidationError if the map is invalid, or maps two columns to one field.

        Also if there are too many columns.
        """
        check_header(first_line)
        self._count = len(first_line)
        self._names = [column_name(first_line, index) for index in range(len(first_line))]
        self._options = options
        self.unrecognized = UnrecognizedCells()
        mapped = mapped_columns(first_line, options.column_map, _target, _TARGETS.values())
        self._positions = {field: index for index, field in mapped.items() if field}
        if len(self._positions) < sum(map(bool, mapped.values())):
            raise ValidationError(
                [Detail("columnMap", "DUPLICATE_FIELD", "maps several columns to one field")]
            )
        first = self._positions.get(EMAIL, 0)
        self.has_header = not first_line or parse_file_email(first_line[first]) is None
        if self.has_header:
            for index, name in enumerate(first_line):
                field = _COLUMNS.get(word_key(name))
                if field is not None and index not in mapped:
                    self._positions.setdefault(field, index)
        # Whether addresses are in all columns.
        self._is_list = not self.has_header and EMAIL not in self._positions
        if not self.has_header:
            self._names = [f"column {number}" for number in range(1, len(first_line) + 1)]
            self._positions.setdefault(EMAIL, 0)
        used = set(self._positions.values())
        self.ignored = [name for index, name in enumerate(self._names) if index not in used]
        # Neither known nor mapped, not even to no field.
        self.unknown = [
            name for index, name in enumerate(self._names) if index not in used | mapped.keys()
        ]

    @property
    def has_email(self) -> bool:
        return EMAIL in self._positions

    @property
    def has_reason(self) -> bool:
        return REASON in self._positions

    def rows(
        self, line: int, cells: Sequence[str], now: int, *, is_malformed: bool = False
    ) -> list[Row]:
        """Returns the row of a line, or a row for each address in its cell.

        In a line without a header, for each address in all cells.

        The cells of a malformed line, or of one with more or fewer than the first line, may be in
        wrong columns. Such a line has the only address in it. A malformed one without an address
        has a fault, and so has one with several addresses and more cells.
        """
        if is_malformed:
            cells = [cell.strip(AROUND_MALFORMED) for cell in cells]
        emails = [self._cell(EMAIL, cells)]
        fault = "" if is_malformed else None
        if is_malformed or self._is_list or len(cells) != self._count:
            addresses = {
                address.key: cell
                for cell in cells
                if "@" in cell and (address := parse_file_email(cell)) is not None
            }
            is_longer = any(map(str.strip, cells[self._count :]))
            if len(addresses) == 1 or (addresses and self._is_list):
                emails, fault = [*addresses.values()], None
            elif addresses and is_longer:
                fault = ""
        text = self._cell(REASON, cells)
        reason = REASONS.get(word_key(text))
        if text and reason is None:
            self._reject(REASON, text)
        text, time = self._cell(CREATED_AT, cells), None
        if text:
            try:
                time = parse_time(text, self._options.date_format, now)
            except UnknownDate as error:
                self._reject(CREATED_AT, text, error.hint)
        return [
            Row(line, each, reason, time, fault)
            for email in emails
            for each in all_addresses(email) or [email]
        ]

    def _cell(self, field: str, cells: Sequence[str]) -> str:
        position = self._positions.get(field, len(cells))
        cell = cells[position].strip() if position < len(cells) else ""
        null_keys = self._options.null_keys
        return "" if null_keys and null_key(cell) in null_keys else cell

    def _reject(self, field: str, cell: str, hint: str | None = None) -> None:
        self.unrecognized.add(self._names[self._positions[field]], cell, hint)


def _target(text: str) -> str | None:
    """Returns the field that a target of the map names, "" for none, or None if it is unknown."""
    return _TARGETS.get(column_key(text))
