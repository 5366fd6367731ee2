"""Builds the protobuf messages of imports."""

from __future__ import annotations

from typing import Any

import orjson
from google.protobuf.json_format import MessageToDict, ParseDict

from roster.v1 import imports_pb2 as pb
from roster.v1 import subscribers_pb2
from roster.v1.rows_pb2 import Import

from ....rpc.errors import Detail, ValidationError, invalid
from ....rpc.messages import actor_message, timestamp
from ....values.actors import Actor, ActorType
from ....values.unrecognized import UnrecognizedCells, first_examples
from ...custom_fields.rules import DataType
from ...operations.store import OperationRow
from ..columns import NewColumn
from ..messages import Options
from .rules import Progress, State
from .store import ImportRow

_DELIMITERS = {
    pb.ImportOptions.COMMA: ",",
    pb.ImportOptions.SEMICOLON: ";",
    pb.ImportOptions.TAB: "\t",
    pb.ImportOptions.VERTICAL_BAR: "|",
    pb.ImportOptions.COLON: ":",
}


def import_job(row: ImportRow, operation: OperationRow | None) -> pb.ImportJob:
    """Returns an import as the API does, given its operation if it has ended."""
    progress, state = row.run, State(row.state)
    # A later version can have stored other fields.
    content = row.content
    problems = [*content.get("problems", ()), *content.get("filterProblems", ())]
    message = ParseDict(
        {**content, "problems": problems}, pb.ImportJob(), ignore_unknown_fields=True
    )
    has_summary = row.started_at is not None
    message.id, message.name, message.state = row.id, row.name, pb.ImportJob.State.ValueType(state)
    message.size, message.received = row.size, row.received
    message.options.CopyFrom(options_of(row.options))
    message.operation_id = row.operation_id
    message.processed, message.processed_bytes = progress.rows, progress.bytes
    if has_summary:
        message.summary.CopyFrom(summary_of(progress))
        message.started_at.CopyFrom(timestamp(row.started_at or 0))
    message.dry_run = progress.dry_run
    if row.error and state is State.FAILED:
        ParseDict(orjson.loads(row.error), message.error, ignore_unknown_fields=True)
    if row.actor:
        type_, id_, name = orjson.loads(row.actor)
        message.actor.CopyFrom(actor_message(Actor(ActorType(type_), id_, name)))
    message.created_at.CopyFrom(timestamp(row.created_at))
    message.expires_at.CopyFrom(timestamp(row.expires_at))
    if row.ended_at is not None:
        message.ended_at.CopyFrom(timestamp(row.ended_at))
    if operation is not None and operation.undone_by is not None:
        message.undone_by = operation.undone_by
    elif operation is not None and operation.undo_expires_at is not None:
        message.undo_expires_at.CopyFrom(timestamp(operation.undo_expires_at))
    return message


def listed_job(row: ImportRow, operation: OperationRow | None) -> pb.ImportJob:
    """Returns an import as lists have it, without its columns and rows."""
    message = import_job(row, operation)
    for field in ("columns", "sample"):
        message.ClearField(field)
    return message


def options_of(text: str) -> pb.ImportOptions:
    """Returns stored options."""
    return ParseDict(orjson.loads(text), pb.ImportOptions(), ignore_unknown_fields=True)


def options_text(options: pb.ImportOptions) -> str:
    return orjson.dumps(MessageToDict(options)).decode()


def parse_options(message: pb.ImportOptions) -> Options:
    """Returns parsed options. Raises ValidationError.

    The fields of ImportSubscribersRequest have the same numbers.
    """
    request = subscribers_pb2.ImportSubscribersRequest.FromString(message.SerializeToString())
    new_fields = [
        NewColumn(each.column, each.label, DataType(each.data_type or DataType.TEXT))
        for each in message.new_fields
    ]
    return Options(request, new_fields)


def delimiter_of(text: str) -> str:
    """Returns the delimiter of stored options; empty if it is recognized from the file."""
    return _DELIMITERS.get(options_of(text).delimiter, "")


def summary_of(progress: Progress) -> subscribers_pb2.ImportSummary:
    summary = subscribers_pb2.ImportSummary()
    ParseDict(dict(progress.summary), summary, ignore_unknown_fields=True)
    for cells in summary.unrecognized_cells:
        # An earlier version stored one example.
        if cells.example and not cells.examples:
            cells.examples.append(cells.example)
    return summary


def summary_json(summary: subscribers_pb2.ImportSummary) -> dict[str, Any]:
    return MessageToDict(summary)


def add_unrecognized(summary: subscribers_pb2.ImportSummary, cells: UnrecognizedCells) -> None:
    """Adds the cells of more rows to a summary."""
    known = {each.column: each for each in summary.unrecognized_cells}
    for column, found in cells.by_column.items():
        if column in known:
            message = known[column]
            examples = first_examples(message.examples, found.examples)
            message.rows += found.rows
            message.examples[:] = examples
            if found.hint and not message.hint:
                message.hint = found.hint
        else:
            summary.unrecognized_cells.add(column=column, **found._asdict())


def check_problems(row: ImportRow) -> None:
    """Raises ValidationError if an import cannot be started."""
    content = row.content
    if problems := content.get("problems"):
        message = content.get("problemsMessage") or "The file cannot be imported."
        raise ValidationError([Detail(**each) for each in problems], message)


def preset_number(name: str) -> Import.Preset.ValueType:
    return Import.Preset.Value(name)


def check_sha256(field: str, stated: str, actual: str) -> None:
    """Raises ValidationError unless bytes have the stated hash, if there is one."""
    if stated and stated.lower() != actual:
        raise invalid(field, "INVALID_VALUE", f"is not the SHA-256 of the bytes, {actual}")
