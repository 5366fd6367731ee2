"""Parses the cells of a CSV file into rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial, reduce
from typing import Any

import orjson

from ...values.addresses import normal_ip
from ...values.file_addresses import unwrap
from ...values.file_dates import DateFormat, UnknownDate, iso_date, parse_date, parse_time
from ...values.texts import cached_if_short, column_key, has_control_characters, json_name
from ..custom_fields.rules import BOOLEANS, DataType, is_date, typed_value
from ..subscribers.csv_format import TAG_SEPARATORS
from ..subscribers.fields import PROFILE, Kind, Status
from ..subscribers.rules import OPTED_OUT, ConsentRecord, on_one_line, strictest
from .csv_row import CsvRow
from .status_words import COMMON_WORDS, OPT_OUT_WORDS, status_in_tag, status_of

# Parses a cell into a row. Raises CellError.
Parse = Callable[[CsvRow, str], None]

# The words of other services and languages for flags, by column key. A word that means yes in one
# language and no in another, such as the Greek and the Czech "ne", is not one of them.
_FLAG_WORDS = {
    True: "y t on x checked optedin optin subscribed active enabled granted allow allowed"
    " j ja oui si sí sì sim tak",
    False: "n f off unchecked disabled inactive revoked denied declined optedout optout"
    " unsubscribed neversubscribed notsubscribed nein non nee nej nei não nao nie",
}
_FLAGS = BOOLEANS | {word: flag for flag, words in _FLAG_WORDS.items() for word in words.split()}
_MAILABLE = (Status.CONFIRMED, Status.UNCONFIRMED)
# The words of a list of reasons, such as HARD_BOUNCE.
_REASONS = re.compile(r"[\w ]+")
# A date and perhaps a time, without other words, which may state an opt-out.
_NUMERIC_DATE = re.compile(
    r"\d{1,4}([-/.])\s?\d{1,2}\1\s?\d{2,4}(?:[,T\s]+[\d:.]+\s?(?:[ap]\.?m\.?|z|utc|gmt)?)?",
    re.ASCII | re.IGNORECASE,
)
_FLAG_HINT = "Write yes or no, or map the word with statusMap, such as statusMap=WORD=UNSUBSCRIBED."
STATUS_HINT = "Map the word with statusMap, such as statusMap=WORD=UNSUBSCRIBED."
# Texts that mean no date in a column of opt-out dates, by column key. `parse_date` recognizes more.
NO_DATES = frozenset(
    ("", "false", "no", "never", "none", "nil", "n/a", "na", "nan", "undefined", "[]")
)
MAX_CONSENT_SOURCE = 200
REVERSED_NAME = "lastName+firstName"
# Targets of columnMap for flags of other services.
OPTED_IN, OPTED_OUT_FLAG = "optedIn", "optedOut"
_TIMES = [name for name in ConsentRecord._fields if name.endswith("_at")]


class CellError(Exception):
    """A cell that could not be parsed. `hint` states the remedy, if one is known."""

    def __init__(self, hint: str | None = None) -> None:
        super().__init__()
        self.hint = hint


def parse_email(row: CsvRow, cell: str) -> None:
    row.email = cell
    if "<" in cell:  # "Ada Lovelace" <ada@example.com>
        row.email, row.display_name = unwrap(cell)


def profile_parser(name: str, kind: Kind, date_format: DateFormat | None) -> Parse:
    """Returns the parser of a field that clients set."""
    value_of = _VALUES[kind]

    def parse(row: CsvRow, cell: str) -> None:
        row.profile[name] = value_of(cell, date_format)

    return parse


def _number(cell: str, _: DateFormat | None) -> float:
    number = typed_value(cell, DataType.NUMBER)
    if isinstance(number, str):
        raise CellError
    return float(number)


def _time(cell: str, date_format: DateFormat | None, now: int | None = None) -> int | None:
    try:
        return parse_time(cell, date_format, now)
    except UnknownDate as error:
        raise CellError(error.hint) from None


def _flag(cell: str, _: DateFormat | None) -> int:
    flag = BOOLEANS.get(cell.strip().lower())
    if flag is None:
        raise CellError
    return int(flag)


_VALUES: Mapping[Kind, Callable[[str, DateFormat | None], Any]] = {
    Kind.TEXT: lambda cell, _: cell,
    Kind.NUMBER: _number,
    Kind.TIME: _time,
    Kind.FLAG: _flag,
}


def parse_name(row: CsvRow, cell: str) -> None:
    row.name = on_one_line(cell).strip()


def parse_reversed_name(row: CsvRow, cell: str) -> None:
    """Parses a full name that begins with the last name, as "Lovelace, Ada"."""
    cell = on_one_line(cell).strip()
    last, comma, first = cell.partition(",")
    if not comma:
        last, _, first = cell.partition(" ")
    row.profile |= {"first_name": first.strip(), "last_name": last.strip()}


def parse_confirmed(row: CsvRow, cell: str) -> None:
    row.is_confirmed = bool(_flag(cell, None))


def parse_status(words: Mapping[str, Status], row: CsvRow, cell: str) -> None:
    status = status_of(words, cell)
    if status is None:
        raise CellError(STATUS_HINT)
    row.status = status
    if status in OPTED_OUT:
        # Of several columns, another one can follow.
        row.opt_out = strictest(row.opt_out, status)


def parse_opted_in(mapped: Mapping[str, Status], row: CsvRow, cell: str) -> None:
    """Parses a flag. Other words have the status to which `mapped` maps them."""
    flag = flag_of(cell)
    if flag is not None:
        _set_status(row, Status.CONFIRMED if flag else Status.UNSUBSCRIBED)
    elif (status := mapped.get(column_key(cell))) is not None:
        _set_status(row, status)
    else:
        raise CellError(_FLAG_HINT)


def parse_opted_out(mapped: Mapping[str, Status], row: CsvRow, cell: str) -> None:
    """Parses a flag, or the reasons of an opt-out. Any text except a negative word is a reason.

    Texts that are neither a flag nor a known reason have the status to which `mapped` maps them.
    """
    key = column_key(cell)
    if key in ("allow", "allowed") or COMMON_WORDS.get(key) in _MAILABLE:
        return
    words = [OPT_OUT_WORDS.get(column_key(word)) for word in _REASONS.findall(cell)]
    status, flag = reduce(strictest, words, None), flag_of(cell)
    if status is None and flag is None and key in mapped:
        _set_status(row, mapped[key])
    elif status is not None or flag is not False:
        row.opt_out = strictest(row.opt_out, status or Status.UNSUBSCRIBED)


def _set_status(row: CsvRow, status: Status) -> None:
    """Sets the status that a flag states. A mailable one does not replace that of the row."""
    if status in OPTED_OUT:
        row.opt_out = strictest(row.opt_out, status)
    elif status is Status.CONFIRMED:
        row.is_confirmed = True
    elif row.status is None:
        row.status = status


def flag_of(cell: str) -> bool | None:
    """Returns the value of a flag, or None if the text is not one. A date means true.

    A list of channels is true if it contains mail.
    """
    channels = set(map(column_key, _REASONS.findall(cell)))
    if channels & {"emailmarketing", "smsmarketing"}:
        return "emailmarketing" in channels
    key = column_key(cell)
    if key in NO_DATES:
        return False
    if key in _FLAGS:
        return _FLAGS[key]
    try:
        return parse_date(cell, None) is not None
    except UnknownDate:
        # A date whose order is not known is a date too.
        return True if _NUMERIC_DATE.fullmatch(cell.strip()) else None


def parse_tags(row: CsvRow, cell: str) -> None:
    row.tags = (*row.tags, *_tags(cell))


def opt_out_in_tags(cell: str) -> Status | None:
    """Returns UNSUBSCRIBED if one of the tags in a cell states an opt-out."""
    return reduce(strictest, map(status_in_tag, _tags(cell)), None)


def parse_quoted_tags(row: CsvRow, cell: str) -> None:
    """Parses tags such as `"vip","a, b"`."""
    row.tags = (*row.tags, *_quoted_tags(cell))


# Many rows have the same tags.
@cached_if_short
def _tags(cell: str) -> Sequence[str]:
    names = _json_strings(cell)
    return _not_blank(TAG_SEPARATORS.split(cell)) if names is None else names


@cached_if_short
def _quoted_tags(cell: str) -> Sequence[str]:
    try:
        return _not_blank(next(csv.reader((cell.strip(),), skipinitialspace=True, strict=True)))
    except csv.Error:
        raise CellError from None


def _not_blank(names: Iterable[str]) -> list[str]:
    return [name for name in map(str.strip, names) if name]


def parse_time_cell(
    name: str, now: int, date_format: DateFormat | None, row: CsvRow, cell: str
) -> None:
    time = _time(cell, date_format, now)
    if time is not None:
        row.stated[name] = time


def parse_opt_out_time(now: int, date_format: DateFormat | None, row: CsvRow, cell: str) -> None:
    """Parses the time of an opt-out. Any text states an opt-out, unless it means no date.

    The latest time of several columns counts.
    """
    if column_key(cell) in NO_DATES:
        return
    before = row.stated.get("unsubscribed_at")
    try:
        parse_time_cell("unsubscribed_at", now, date_format, row, cell)
    except CellError:
        row.opt_out = strictest(row.opt_out, Status.UNSUBSCRIBED)
        raise
    if before is not None:
        time = row.stated["unsubscribed_at"]
        row.stated["unsubscribed_at"] = max(before, time)


def parse_consent_source(row: CsvRow, cell: str) -> None:
    if not is_valid_source(cell):
        raise CellError
    row.stated["consent_source"] = cell


def parse_consent_ip(row: CsvRow, cell: str) -> None:
    text = cell.strip()
    if not is_valid_ip(text):
        raise CellError
    row.stated["consent_ip"] = text


def is_valid_source(text: str) -> bool:
    return len(text) <= MAX_CONSENT_SOURCE and not has_control_characters(text)


@cached_if_short
def is_valid_ip(text: str) -> bool:
    return normal_ip(text) is not None


def value_parser(key: str, data_type: int, date_format: DateFormat | None) -> Parse:
    """Returns the parser of a custom field."""
    if data_type == DataType.DATE:
        return partial(_parse_date_value, key, date_format)
    return partial(_parse_value, key, data_type)


def _parse_value(key: str, data_type: int, row: CsvRow, cell: str) -> None:
    row.custom_fields[key] = typed_value(cell, data_type)


def _parse_date_value(key: str, date_format: DateFormat | None, row: CsvRow, cell: str) -> None:
    text = cell.strip()
    if not is_date(text):
        with suppress(UnknownDate):  # The text itself is not valid either.
            text = iso_date(text, date_format)
    if text:
        row.custom_fields[key] = text


def _json_strings(cell: str) -> list[str] | None:
    """Returns the strings of a JSON array, the form of tags that contain separators."""
    if not cell.startswith("["):
        return None
    try:
        # The json module would accept lone surrogates, which cannot be stored.
        names = orjson.loads(cell)
    except ValueError:
        return None
    return names if all(isinstance(name, str) for name in names) else None


def field_parsers(
    words: Mapping[str, Status],
    now: int,
    date_format: DateFormat | None = None,
    *,
    mapped: Mapping[str, Status],
    tags_are_quoted: bool,
) -> dict[str, Parse]:
    """Returns the parsers of the built-in fields by JSON name.

    `words` are status words by `column_key`, and `mapped` those of the option statusMap.
    """
    return {
        **{
            field.json_name: profile_parser(name, field.kind, date_format)
            for name, field in PROFILE.items()
            if field.kind is not None
        },
        "email": parse_email,
        "name": parse_name,
        REVERSED_NAME: parse_reversed_name,
        "isConfirmed": parse_confirmed,
        "status": partial(parse_status, words),
        "tags": parse_quoted_tags if tags_are_quoted else parse_tags,
        OPTED_IN: partial(parse_opted_in, mapped),
        OPTED_OUT_FLAG: partial(parse_opted_out, mapped),
        **{json_name(name): partial(parse_time_cell, name, now, date_format) for name in _TIMES},
        "unsubscribedAt": partial(parse_opt_out_time, now, date_format),
        "consentSource": parse_consent_source,
        "consentIp": parse_consent_ip,
    }


# The fields that a column with their name sets.
FIELD_NAMES = [
    name
    for name in field_parsers({}, 0, mapped={}, tags_are_quoted=False)
    if name not in (REVERSED_NAME, OPTED_IN, OPTED_OUT_FLAG)
]
