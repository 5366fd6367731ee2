"""Runs an import of a suppression list."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from typing import NamedTuple

from roster.v1 import suppressions_pb2 as pb
from roster.v1.http_pb2 import CsvLine
from roster.v1.rows_pb2 import Import, ReasonCount
from roster.v1.rows_pb2 import Row as RowMessage

from ...rpc.errors import invalid
from ...rpc.file_columns import null_keys
from ...rpc.messages import milliseconds, select_results
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.clock import system_clock
from ...values.emails import trim
from ...values.file_addresses import all_addresses, parse_file_email
from ...values.file_dates import DateFormat, UnknownDate, parse_time
from ...values.reason_counts import ReasonCounts
from ...values.texts import word_key
from ...values.timestamps import is_valid_time
from ...values.unrecognized import UnrecognizedCells
from ..sessions.store import check_credential
from .columns import CREATED_AT, EMAIL, REASON, REASONS, CellOptions, Columns
from .rules import NewSuppression, Reason, Row, strictest
from .store import Suppressions
from .subscribers import SuppressedSubscribers

# Each existing subscriber that opts out takes several statements.
MAX_ROWS_OF_A_TRANSACTION = 500
_NO_EMAIL = (
    "must start with a header that names email; map another column with columnMap, such as"
    " columnMap=Contact=email"
)
# Characters of the address of a failed row.
MAX_REPEATED = 320


class Stored(NamedTuple):
    """The addresses that were not suppressed before, and the number of opt-outs."""

    added: set[str]
    opted_out: int


class SuppressionWriter:
    """Adds suppressions to an account, and ends the consent of its subscribers."""

    def __init__(
        self,
        account_id: str,
        key_id: str,
        suppressions: Suppressions,
        subscribers: SuppressedSubscribers,
        *,
        is_import: bool,
    ) -> None:
        self._account_id = account_id
        self._key_id = key_id
        self._suppressions = suppressions
        self._subscribers = subscribers
        self._is_import = is_import

    def add(self, suppressions: Sequence[NewSuppression], tx: Transaction) -> Stored:
        """Stores suppressions. Raises Unauthorized if the key of an import is no longer valid."""
        if self._is_import:
            check_credential(self._account_id, self._key_id, tx)
        added = self._suppressions.add(self._account_id, suppressions, tx)
        reasons = {key: each.reason for key, each in strictest(suppressions).items()}
        opted_out = self._subscribers.opt_out(
            self._account_id, reasons, tx, is_import=self._is_import
        )
        return Stored(set(added), opted_out)


class SuppressionImport:
    """Parses and stores the messages of one import, in order. The first one sets the options."""

    def __init__(self, database: Database, writer: SuppressionWriter) -> None:
        self._database = database
        self._writer = writer
        self._reason: Reason | None = None
        self._results = Import.RESULTS_UNSPECIFIED
        self._options = CellOptions()
        self._columns: Columns | None = None
        # In JSON rows.
        self._unrecognized = UnrecognizedCells()
        self._last_line = 0
        self._summary = pb.ImportSuppressionsSummary()
        self._reasons = ReasonCounts()

    async def responses(
        self, requests: AsyncIterator[pb.ImportSuppressionsRequest]
    ) -> AsyncGenerator[pb.ImportSuppressionsResponse, None]:
        """Yields the results of each transaction, then the summary.

        Raises ValidationError if a file has no column for addresses, or if rows and lines are
        mixed.
        """
        async for request in requests:
            if self._reason is None:
                self._reason = Reason(request.reason or Reason.MANUAL)
                self._results = request.results
                self._options = CellOptions(
                    tuple(request.column_map),
                    DateFormat(request.date_format) if request.date_format else None,
                    null_keys(request.null_tokens),
                )
            lines = self._without_header(request)
            # In another thread, so that the event loop does not wait.
            rows = await asyncio.to_thread(lambda: list(self._rows(request, lines)))  # noqa: B023
            for first in range(0, len(rows), MAX_ROWS_OF_A_TRANSACTION):
                reply = await self._stored(rows[first : first + MAX_ROWS_OF_A_TRANSACTION])
                if select_results(reply, self._results):
                    yield reply
        unrecognized = self._unrecognized
        if self._columns is not None:
            self._summary.ignored_columns.extend(self._columns.ignored)
            unrecognized = self._columns.unrecognized
        for column, cells in unrecognized.by_column.items():
            self._summary.unrecognized_cells.add(column=column, **cells._asdict())
        self._summary.reasons.extend(ReasonCount(**each) for each in self._reasons.as_json())
        yield pb.ImportSuppressionsResponse(summary=self._summary)

    def _without_header(self, request: pb.ImportSuppressionsRequest) -> Sequence[CsvLine]:
        """Returns the lines of a message after the header, which is parsed."""
        if request.suppressions and (request.lines or self._columns is not None):
            raise invalid("suppressions", "INVALID_VALUE", "cannot be mixed with lines")
        if not request.lines or self._columns is not None:
            return request.lines
        columns = self._columns = Columns(request.lines[0].cells[:], self._options)
        if not columns.has_email:
            raise invalid("lines", "INVALID_VALUE", _NO_EMAIL)
        if not columns.has_header:
            return request.lines
        self._last_line = request.lines[0].number or 1
        return request.lines[1:]

    def _rows(
        self, request: pb.ImportSuppressionsRequest, lines: Sequence[CsvLine]
    ) -> Iterator[Row]:
        now = system_clock()
        for line in lines:
            assert self._columns is not None
            self._last_line = line.number or self._last_line + 1
            malformed = line.malformed
            yield from self._columns.rows(self._last_line, line.cells, now, is_malformed=malformed)
        for message in request.suppressions:
            self._last_line += 1
            yield from self._rows_of(message, now)

    def _rows_of(self, message: pb.ImportSuppression, now: int) -> list[Row]:
        """Returns a row for each address of a message.

        A member that cannot be read is reported and ignored: the address is still suppressed. If
        it has no valid address, the first of them by name is its fault.
        """
        reason = created_at = None
        faults = dict[str, tuple[str, str | None]]()
        for field, text in ((fault.field, fault.text) for fault in message.faults):
            try:
                if field == REASON and word_key(text) in REASONS:
                    reason = REASONS[word_key(text)]
                elif field == CREATED_AT and text:
                    if not text.isspace():
                        created_at = parse_time(text, self._options.date_format, now)
                elif field != REASON or not text.isspace():
                    raise UnknownDate
            except UnknownDate as error:
                faults[field] = text, error.hint
        if message.reason:
            try:
                reason = Reason(message.reason)
            except ValueError:
                faults[REASON] = str(message.reason), None
        if message.HasField("created_at"):
            time = milliseconds(message.created_at)
            if is_valid_time(time, now):
                created_at = time
            else:
                faults[CREATED_AT] = str(time), None
        addresses = all_addresses(message.email)
        if addresses and faults.keys().isdisjoint(("", EMAIL)):
            for field, fault in faults.items():
                self._unrecognized.add(field[:MAX_REPEATED], *fault)
            faults.clear()
        first_fault = min(faults, default=None)
        return [
            Row(self._last_line, email, reason, created_at, first_fault)
            for email in addresses or [message.email]
        ]

    async def _stored(self, rows: Sequence[Row]) -> pb.ImportSuppressionsResponse:
        assert self._reason is not None
        reply, suppressions = pb.ImportSuppressionsResponse(), {}
        for index, row in enumerate(rows):
            result = reply.results.add(line=row.line, email=row.email[:MAX_REPEATED])
            email = parse_file_email(row.email)
            if email is None or row.fault is not None:
                _fail(result, row)
                self._summary.failed += 1
                self._reasons.add(RowMessage.Reason.Name(result.reason), str(row.line))
            else:
                reason = self._reason if row.reason is None else row.reason
                suppressions[index] = NewSuppression(email.key, reason, row.created_at)
        if not suppressions:
            return reply
        added, opted_out = await self._database.write(
            lambda tx: self._writer.add(list(suppressions.values()), tx)
        )
        self._summary.opted_out += opted_out
        for index, suppression in suppressions.items():
            outcome = pb.ImportSuppressionResult.EXISTING
            if suppression.email_key in added:
                added.remove(suppression.email_key)
                outcome = pb.ImportSuppressionResult.ADDED
                self._summary.added += 1
            else:
                self._summary.existing += 1
            reply.results[index].outcome = outcome
        return reply


def _fail(result: pb.ImportSuppressionResult, row: Row) -> None:
    result.outcome = pb.ImportSuppressionResult.FAILED
    if row.fault == "":
        result.reason = RowMessage.INVALID_ROW
    elif row.fault is not None:
        result.reason, result.field = RowMessage.INVALID_FIELD, row.fault[:MAX_REPEATED]
    else:
        result.reason, result.field = reason_of(row.email), EMAIL


def reason_of(email: str) -> RowMessage.Reason.ValueType:
    """Returns why a text is not an address."""
    return RowMessage.INVALID_EMAIL if trim(email) else RowMessage.MISSING_EMAIL
