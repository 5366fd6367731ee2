"""Converts the messages of an import to and from rows, options and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from roster.v1 import subscribers_pb2 as pb

from ...rpc.errors import invalid
from ...rpc.file_columns import null_keys
from ...rpc.messages import milliseconds
from ...values.file_addresses import unwrap
from ...values.file_dates import DateFormat, UnknownDate, parse_time
from ...values.texts import column_key, json_name
from ...values.timestamps import is_valid_time
from ...values.unrecognized import UnrecognizedCells
from ..subscribers.fields import Status
from ..subscribers.row_writer import OnConflict, Result
from ..subscribers.rules import MAX_REPEATED, ConsentRecord
from ..tags.rules import distinct, parse_name
from .columns import ColumnOptions, UnknownColumns
from .consent_record import is_valid_ip, is_valid_source
from .csv_row import CsvRow
from .evidence import stated_status
from .presets import BY_NUMBER, ROSTER
from .rows import ImportRow
from .status_words import COMMON_WORDS, parse_status_map
from .summary import Summary

_TIMES = [name for name in ConsentRecord._fields if name.endswith("_at")]


class Options:
    """The options of an import, from its first message."""

    def __init__(self, request: pb.ImportSubscribersRequest) -> None:
        """Raises ValidationError for `addTags` or `statusMap`."""
        self.on_conflict = OnConflict(request.on_conflict or OnConflict.FAIL)
        self.after_line = request.after_line
        self.is_dry_run = request.dry_run
        self.results = request.results
        self.columns = ColumnOptions(
            preset=BY_NUMBER.get(request.preset),
            column_map=tuple(request.column_map),
            unknown=UnknownColumns(request.unknown_columns) if request.unknown_columns else None,
            status_map=tuple(request.status_map),
            ignored=tuple(request.ignore_columns),
            date_format=DateFormat(request.date_format) if request.date_format else None,
            null_keys=null_keys(request.null_tokens),
        )
        self.status_words: dict[str, Status] = COMMON_WORDS | parse_status_map(request.status_map)
        self.is_own_export = self.columns.preset is ROSTER
        names = [parse_name(name) for name in request.add_tags]
        for number, name in enumerate(names):
            if name is None:
                raise invalid(
                    f"addTags[{number}]",
                    "INVALID_VALUE",
                    "must be a tag name of 1 to 100 characters",
                )
        self.added_tags = distinct([name for name in names if name is not None])


def import_row(
    line: int,
    row: pb.ImportSubscriber,
    now: int,
    options: Options,
    unrecognized: UnrecognizedCells,
) -> ImportRow:
    """Returns a row. Adds a fault to the message for an invalid status, time or consent."""
    status = _status(row, options)
    if "<" in row.email and not (row.first_name or row.last_name):
        _copy_display_name(row)
    if row.HasField("consent"):
        _copy_consent(row)
    stated: dict[str, Any] = {}
    if row.faults:
        stated = _stated_times(row, now, options.columns.date_format, unrecognized)
    for name in _TIMES:
        if row.HasField(name):  # type: ignore[arg-type]
            value: Timestamp = getattr(row, name)
            stated[name] = milliseconds(value)
            if not is_valid_time(stated[name], now):
                row.faults.add(field=json_name(name))
    if row.consent_source:
        stated["consent_source"] = row.consent_source
        if not is_valid_source(row.consent_source):
            row.faults.add(field="consentSource")
    if row.consent_ip:
        stated["consent_ip"] = row.consent_ip
        if not is_valid_ip(row.consent_ip):
            row.faults.add(field="consentIp")
    opt_out = None
    if any(fault.field == "unsubscribedAt" for fault in row.faults):
        # The date of an opt-out that cannot be read is still an opt-out.
        opt_out = Status.UNSUBSCRIBED
    if not stated and opt_out is None:
        return ImportRow(line, row, status)
    record = ConsentRecord(**stated)
    is_own_export = options.is_own_export
    status = stated_status(status, opt_out, record, is_own_export=is_own_export, dates_status=True)
    return ImportRow(line, row, status, record)


def _status(row: pb.ImportSubscriber, options: Options) -> Status | None:
    """Returns the status of a row. The gateway passes an unknown word on in a fault."""
    if row.status:
        try:
            return Status(row.status)
        except ValueError:
            row.faults.add(field="status")
    for index, fault in enumerate(row.faults):
        word = options.status_words.get(column_key(fault.text))
        if fault.field == "status" and word is not None:
            del row.faults[index]
            return word
    return None


def _copy_consent(row: pb.ImportSubscriber) -> None:
    """Fills the fields of the consent that are not set from the message of an export."""
    row.consent_source = row.consent_source or row.consent.source
    row.consent_ip = row.consent_ip or row.consent.ip
    if row.consent.HasField("at") and not row.HasField("consent_at"):
        row.consent_at.CopyFrom(row.consent.at)


def _copy_display_name(row: pb.ImportSubscriber) -> None:
    parsed = CsvRow(display_name=unwrap(row.email).name)
    parsed.split_name()
    row.first_name, row.last_name = parsed.first_name, parsed.last_name


def _stated_times(
    row: pb.ImportSubscriber,
    now: int,
    date_format: DateFormat | None,
    unrecognized: UnrecognizedCells,
) -> dict[str, Any]:
    """Returns the times in formats that only the server reads, and removes their faults."""
    times = {json_name(name): name for name in _TIMES}
    stated: dict[str, Any] = {}
    faults = []
    for fault in list(row.faults):
        try:
            if not fault.text or fault.field not in times:
                raise UnknownDate
            time = parse_time(fault.text, date_format, now)
        except UnknownDate as error:
            faults.append(fault)
            if error.hint is not None:
                unrecognized.add(fault.field, fault.text, error.hint)
        else:
            if time is not None:
                stated[times[fault.field]] = time
    del row.faults[:]
    row.faults.extend(faults)
    return stated


def reply_of(rows: Sequence[ImportRow], results: Sequence[Result]) -> pb.ImportSubscribersResponse:
    reply = pb.ImportSubscribersResponse()
    add, to_proto = reply.results.add, pb.ImportResult.Outcome.ValueType
    for (line, row, _, _), (outcome, subscriber_id, row_error, status_kept, dropped) in zip(
        rows, results, strict=True
    ):
        # Keyword arguments of `add` take nearly twice as long (`import` in `make bench`).
        result = add()
        result.line, result.id = line, subscriber_id
        result.email = row.email[:MAX_REPEATED]
        result.outcome = to_proto(outcome)
        if status_kept:
            result.status_kept = True
        if dropped:
            result.dropped_cells.extend([field[:MAX_REPEATED] for field in dropped])
        if row_error is not None:
            result.reason = pb.BulkFailure.Reason.ValueType(row_error.failure)
            if row_error.field is not None:
                result.field = row_error.field[:MAX_REPEATED]
    return reply


def summary_message(summary: Summary) -> pb.ImportSummary:
    message = pb.ImportSummary(
        statuses_kept=summary.statuses_kept, rows_with_dropped_cells=summary.rows_with_dropped_cells
    )
    for name, count in summary.outcomes().items():
        setattr(message, name, count)
    message.reasons.update(summary.reasons())
    message.statuses.update(summary.statuses())
    return message
