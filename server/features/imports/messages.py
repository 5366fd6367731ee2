"""Converts the messages of an import to and from rows, options and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from google.protobuf.struct_pb2 import ListValue, Struct
from google.protobuf.timestamp_pb2 import Timestamp

from roster.v1 import rows_pb2
from roster.v1 import subscribers_pb2 as pb

from ...rpc.errors import ValidationError, invalid
from ...rpc.file_columns import null_keys
from ...rpc.messages import milliseconds
from ...values.file_addresses import unwrap
from ...values.file_dates import DateFormat, UnknownDate, parse_time
from ...values.reason_counts import ReasonCounts
from ...values.texts import column_key, json_name, repaired_encoding
from ...values.timestamps import is_valid_time
from ...values.unrecognized import UnrecognizedCells
from ..custom_fields.rules import derive_key
from ..subscribers.csv_format import CUSTOM_FIELDS
from ..subscribers.fields import PROFILE, Kind, Status, profile_fields
from ..subscribers.profile import row_of
from ..subscribers.row_writer import OnConflict, Outcome, Result
from ..subscribers.rules import (
    MAX_REPEATED,
    ConsentRecord,
    Row,
    Validated,
    strictest,
    subscriber_of,
)
from ..tags.rules import distinct, parse_name
from .cells import NO_DATES, STATUS_HINT, is_valid_ip, is_valid_source, opt_out_in_tags
from .columns import ColumnOptions, NewColumn, UnknownColumns
from .consent_columns import can_list_tags, is_other_channel, state_kind
from .csv_row import CsvRow
from .evidence import stated_status
from .nested_values import opt_out_in, opt_out_in_cell
from .presets import PRESETS
from .status_words import (
    COMMON_WORDS,
    JSON_STATED_HINT,
    JSON_TAG_HINT,
    parse_status_map,
    status_in,
    status_in_tag,
    status_of,
)

# Names of times by JSON name: of the consent record, then also of the profile.
_TIMES = {json_name(name): name for name in ConsentRecord._fields if name.endswith("_at")}
_ALL_TIMES = _TIMES | {PROFILE[name].json_name: name for name in profile_fields(Kind.TIME)}
_CONSENT = (("consent_source", is_valid_source), ("consent_ip", is_valid_ip))


class Options:
    """The options of an import, from its first message."""

    def __init__(
        self, request: pb.ImportSubscribersRequest, new_fields: Sequence[NewColumn] = ()
    ) -> None:
        """Raises ValidationError for `addTags`, `statusMap` or `newFields`."""
        self.on_conflict = OnConflict(request.on_conflict or OnConflict.FAIL)
        self.after_line = request.after_line
        self.is_dry_run = request.dry_run
        self.results = request.results
        self.columns = ColumnOptions(
            preset=PRESETS.get(rows_pb2.Import.Preset.Name(request.preset)),
            column_map=tuple(request.column_map),
            unknown=UnknownColumns(request.unknown_columns) if request.unknown_columns else None,
            status_map=tuple(request.status_map),
            ignored=tuple(request.ignore_columns),
            date_format=DateFormat(request.date_format) if request.date_format else None,
            null_keys=null_keys(request.null_tokens),
            new_fields=new_fields,
        )
        for number, field in enumerate(new_fields):
            try:
                derive_key(field.label)
            except ValidationError as error:
                detail = replace(error.details[0], field=f"newFields[{number}].label")
                raise ValidationError([detail]) from None
        self.status_words: dict[str, Status] = COMMON_WORDS | parse_status_map(request.status_map)
        preset = self.columns.preset
        self.is_own_export = preset is not None and not preset.is_lenient
        names = [parse_name(name) for name in request.add_tags]
        for number, name in enumerate(names):
            if name is None:
                raise invalid(
                    f"addTags[{number}]",
                    "INVALID_VALUE",
                    "must be a tag name of 1 to 100 characters",
                )
        self.added_tags = distinct([name for name in names if name is not None])
        # Of the people whom the import creates, where their rows state nothing.
        self.is_confirmed = request.is_confirmed
        self.consent_source = request.consent_source


def import_row(
    line: int,
    message: pb.ImportSubscriber,
    now: int,
    options: Options,
    unrecognized: UnrecognizedCells,
) -> Row:
    """Returns a row, with faults for an invalid status, time or consent.

    The gateway passes on words and dates in the formats of other services as faults, and of a
    member that is specified more than once a fault without text, then all values.
    """
    row, faults = row_of(message), list[str]()
    row.line = line
    if message.HasField("is_confirmed"):
        row.is_confirmed = message.is_confirmed
    stated: dict[str, Any] = {}
    for fault in message.faults:
        word = status_of(options.status_words, fault.text) if fault.field == "status" else None
        if word is not None:
            row.status = strictest(row.status, word)
            continue
        name = _ALL_TIMES.get(fault.field)
        if fault.text.isspace() and (name is not None or fault.field == "status"):
            continue
        if fault.text and name == "unsubscribed_at" and column_key(fault.text) in NO_DATES:
            continue
        try:
            if not fault.text or name is None:
                raise UnknownDate
            is_profile = name in row.profile
            time = parse_time(fault.text, options.columns.date_format, None if is_profile else now)
            if is_profile:
                row.profile[name] = time
            elif time is not None:
                stated[name] = time
        except UnknownDate as error:
            faults.append(fault.field)
            if fault.text:
                hint = STATUS_HINT if fault.field == "status" else error.hint
                unrecognized.add(fault.field, fault.text, hint)
    # A member that is specified several times has a fault for each value.
    row.faults = faults = list(dict.fromkeys(faults))
    if message.status:
        try:
            row.status = strictest(row.status, Status(message.status))
        except ValueError:
            faults.append("status")
    if "<" in row.email and not (row.profile["first_name"] or row.profile["last_name"]):
        named = CsvRow(display_name=unwrap(row.email).name)
        named.split_name()
        row.profile |= named.profile
    _add_consent(message, row, stated, now)
    # The date of an opt-out that cannot be read is still an opt-out.
    opt_out = Status.UNSUBSCRIBED if "unsubscribedAt" in faults else None
    if row.status is None or not options.is_own_export:
        found = _opt_out_in_values(row, options, unrecognized, is_exported=_is_exported(message))
        opt_out = strictest(opt_out, found)
    if stated or opt_out is not None:
        row.consent_record = ConsentRecord(**stated)
        row.status = stated_status(
            row.status,
            opt_out,
            row.consent_record,
            is_own_export=options.is_own_export,
            dates_status=True,
        )
    return row


def _is_exported(message: pb.ImportSubscriber) -> bool:
    """Whether a row looks like one of an export of Roster, of which the status counts."""
    is_complete = message.status != 0 and message.HasField("created_at")
    return is_complete and not message.HasField("is_confirmed")


def _opt_out_in_values(
    row: Row, options: Options, unrecognized: UnrecognizedCells, *, is_exported: bool
) -> Status | None:
    """Returns the strictest opt-out that a tag or a text in a custom field states.

    One in a custom field that is ignored does not count. In an exported row, only a word that can
    only be an opt-out does, and no tag.
    """
    opt_out: Status | None = None
    for tag in () if is_exported else row.tags:
        if (stated := status_in_tag(tag)) is not None:
            opt_out = strictest(opt_out, stated)
            unrecognized.add("tags", tag, JSON_TAG_HINT)
    for name, value in (row.custom_fields or {}).items():
        key = column_key(repaired_encoding(name))
        if is_other_channel(key) or column_key(name) in map(column_key, options.columns.ignored):
            continue
        kind = None if is_exported else state_kind(key)
        for text in value if isinstance(value, ListValue) else (value,):
            if not isinstance(text, str):
                is_nested = isinstance(text, Struct | ListValue) and not is_exported
                stated = opt_out_in(name, text) if is_nested else None
            elif (stated := status_in(text, kind)) is None and not is_exported:
                stated = opt_out_in_tags(text) if can_list_tags(key) else None
                stated = stated or opt_out_in_cell(name, text)
            if stated is not None:
                opt_out = strictest(opt_out, stated)
                example = text if isinstance(text, str) else stated.name
                unrecognized.add(CUSTOM_FIELDS + name, example, JSON_STATED_HINT)
    return opt_out


def _add_consent(message: pb.ImportSubscriber, row: Row, stated: dict[str, Any], now: int) -> None:
    """Adds the times and the consent of a message. Exports have a nested message `consent`."""
    in_export = message.consent if message.HasField("consent") else None
    for path, name in _TIMES.items():
        if message.HasField(name):  # type: ignore[arg-type]
            time: Timestamp = getattr(message, name)
        elif name == "consent_at" and in_export is not None and in_export.HasField("at"):
            time = in_export.at
        else:
            continue
        stated[name] = milliseconds(time)
        if not is_valid_time(stated[name], now):
            row.faults.append(path)
    for name, is_valid in _CONSENT:
        text = getattr(message, name)
        if not text and in_export is not None:
            text = getattr(in_export, name.removeprefix("consent_"))
        if text:
            stated[name] = text
            if not is_valid(text):
                row.faults.append(json_name(name))


def reply_of(rows: Sequence[Row], results: Sequence[Result]) -> pb.ImportSubscribersResponse:
    reply = pb.ImportSubscribersResponse()
    add, to_proto = reply.results.add, rows_pb2.Row.Outcome.ValueType
    for row, (outcome, subscriber_id, row_error, status_kept, dropped, _, _) in zip(
        rows, results, strict=True
    ):
        # Keyword arguments of `add` take nearly twice as long (`import` in `make bench`).
        result = add()
        result.line = row.line
        if subscriber_id:
            result.id = subscriber_id
        result.email = row.email[:MAX_REPEATED]
        result.outcome = to_proto(outcome)
        if status_kept:
            result.status_kept = True
        if dropped:
            result.dropped_cells.extend([field[:MAX_REPEATED] for field in dropped])
        if row_error is not None:
            result.reason = rows_pb2.Row.Reason.ValueType(row_error.failure)
            if row_error.field is not None:
                result.field = row_error.field[:MAX_REPEATED]
    return reply


class Summary:
    """Counts the results of an import by outcome, reason, and status."""

    def __init__(self, stored: pb.ImportSummary | None = None) -> None:
        """Continues the counts of a message."""
        stored = stored or pb.ImportSummary()
        # Indexed by number: enum members are slow dictionary keys.
        self._outcomes = [0, stored.created, stored.updated, stored.skipped, stored.failed]
        self._reasons = ReasonCounts(
            [
                {"reason": each.reason, "total": each.total, "examples": [*each.examples]}
                for each in stored.reasons
            ]
        )
        self._statuses = [0] * (max(Status) + 1)
        for name, count in stored.statuses.items():
            self._statuses[Status[name]] = count
        # Rows whose subscriber kept its status.
        self._statuses_kept = stored.statuses_kept
        self._stayed_opted_out = stored.stayed_opted_out
        self._opted_out = stored.opted_out
        self._rows_with_dropped_cells = stored.rows_with_dropped_cells

    def add(
        self, rows: Sequence[Row], validated: Sequence[Validated], results: Sequence[Result]
    ) -> None:
        for sent, row, result in zip(rows, validated, results, strict=True):
            outcome, _, row_error, status_kept, dropped, was_opted_out, opted_out = result
            self._outcomes[outcome] += 1
            self._stayed_opted_out += was_opted_out
            self._opted_out += opted_out
            self._rows_with_dropped_cells += bool(dropped)
            if row_error is not None:
                self._reasons.add(row_error.failure.name, str(sent.line))
            elif status_kept:
                self._statuses_kept += 1
            # The statuses that this import set.
            elif (new := subscriber_of(row)) is not None and (
                outcome is Outcome.CREATED or (outcome is Outcome.UPDATED and new.has_status)
            ):
                self._statuses[new.status] += 1

    def message(self) -> pb.ImportSummary:
        return pb.ImportSummary(
            created=self._outcomes[Outcome.CREATED],
            updated=self._outcomes[Outcome.UPDATED],
            skipped=self._outcomes[Outcome.SKIPPED],
            failed=self._outcomes[Outcome.FAILED],
            reasons=[rows_pb2.ReasonCount(**each) for each in self._reasons.as_json()],
            statuses={each.name: count for each in Status if (count := self._statuses[each])},
            statuses_kept=self._statuses_kept,
            stayed_opted_out=self._stayed_opted_out,
            opted_out=self._opted_out,
            rows_with_dropped_cells=self._rows_with_dropped_cells,
        )
