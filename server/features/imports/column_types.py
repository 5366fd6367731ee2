"""Proposes the data types of new custom fields from the cells of their columns.

`ColumnTypes` receives each cell of a column once and keeps counts and a few examples only, so a
file of any size is read in one pass. A type is proposed if every cell has it, and if no cell loses
something by it: numbers with leading zeros, a plus sign, an exponent or many digits are texts, as
phone numbers, postal codes and identifiers are. A column whose name says that is a text as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from ...rpc.file_columns import null_key
from ...values.file_dates import DateFormat, UnknownDate, iso_date
from ...values.numbers import exact_number
from ...values.texts import cached_if_short
from ..custom_fields.rules import BOOLEANS, DataType, is_date

MAX_COUNTEREXAMPLES = 3
# A counterexample is truncated to this length.
MAX_EXAMPLE_LENGTH = 100
# After so many cells without a type, it is not checked anymore if most cells were without it.
_MAX_FAILURES = 100
# Whole numbers of more digits are identifiers or phone numbers rather than amounts.
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,8})(?:\.\d{1,18})?", re.ASCII)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", re.ASCII)
# Words in the names of columns whose numbers are not amounts.
_TEXT_NAMES = frozenset(
    (
        *("phone", "mobile", "tel", "telephone", "telefon", "fax"),
        *("zip", "postal", "postcode", "plz", "id", "uuid", "iban", "bic", "vat", "ssn"),
        *("isbn", "ean", "sku", "code"),
    )
)


class ProposedType(NamedTuple):
    """The data type that the cells of a column have.

    `date_formats` are the orders of day and month of a DATE in which every cell is a date; none
    means that no order is needed. If there are several, the type is TEXT until one is chosen.
    `values` are the cells that are not empty. `nearest` is another type that most cells have, and
    `counterexamples` are some of the cells that do not have it.
    """

    data_type: DataType
    values: int
    date_formats: tuple[DateFormat, ...] = ()
    nearest: DataType | None = None
    counterexamples: tuple[str, ...] = ()


class _Candidate:
    """A data type that a column may have, and the cells with and without it."""

    def __init__(self, data_type: DataType, order: DateFormat | None = None) -> None:
        self.data_type = data_type
        self.order = order
        self.matches = self.evidence = self.failures = 0
        self.counterexamples: list[str] = []

    @property
    def is_ruled_out(self) -> bool:
        return self.failures > max(_MAX_FAILURES, self.matches)

    @property
    def fits(self) -> bool:
        """Whether every cell has the type, and one could not be of another type as well."""
        return not self.failures and self.evidence > 0

    def add(self, cell: str, *, matches: bool, is_evidence: bool) -> None:
        if matches:
            self.matches += 1
            self.evidence += is_evidence
        else:
            self.failures += 1
            example = cell[:MAX_EXAMPLE_LENGTH]
            is_listed = len(self.counterexamples) == MAX_COUNTEREXAMPLES
            if not is_listed and example not in self.counterexamples:
                self.counterexamples.append(example)


class ColumnTypes:
    """The data types that the cells of one column have."""

    def __init__(self, name: str = "", null_keys: Collection[str] = frozenset()) -> None:
        """`null_keys` are the texts for no value, as in the options of an import."""
        self._null_keys = null_keys
        self._values = 0
        self._candidates = [
            _Candidate(DataType.BOOLEAN),
            _Candidate(DataType.DATE),
            *(_Candidate(DataType.DATE, order) for order in DateFormat),
        ]
        if _TEXT_NAMES.isdisjoint(word.lower() for word in _WORDS.findall(name)):
            self._candidates.insert(0, _Candidate(DataType.NUMBER))

    def add(self, cell: str) -> None:
        text = cell.strip()
        if not text or (self._null_keys and null_key(cell) in self._null_keys):
            return
        self._values += 1
        if not self._candidates:
            return
        is_rejected = False
        for each in self._candidates:
            if each.data_type is DataType.NUMBER:
                is_number = _is_number(text)
                each.add(text, matches=is_number, is_evidence=True)
            elif each.data_type is DataType.BOOLEAN:
                flag = text.lower() in BOOLEANS
                # A column of 1 and 0 is one of numbers.
                each.add(text, matches=flag, is_evidence=not text.isdigit())
            else:
                orders, is_time = _date_orders(text)
                each.add(text, matches=each.order in orders, is_evidence=is_time)
            is_rejected = is_rejected or each.is_ruled_out
        if is_rejected:
            self._candidates = [each for each in self._candidates if not each.is_ruled_out]

    def proposal(self, date_format: DateFormat | None = None) -> ProposedType:
        """Returns the type of the column, given the date format of the file if it is known."""
        orders = (None, date_format) if date_format else (None, *DateFormat)
        candidates = [
            each
            for each in self._candidates
            if each.data_type is not DataType.DATE or each.order in orders
        ]
        fitting = [each for each in candidates if each.fits]
        dates = [each for each in fitting if each.data_type is DataType.DATE]
        if not fitting:
            return self._text(candidates)
        if fitting[0] not in dates:
            return ProposedType(fitting[0].data_type, self._values)
        if dates[0].order is None:
            return ProposedType(DataType.DATE, self._values)
        formats = tuple(each.order for each in dates if each.order is not None)
        data_type = DataType.DATE if len(formats) == 1 else DataType.TEXT
        nearest = None if len(formats) == 1 else DataType.DATE
        return ProposedType(data_type, self._values, formats, nearest)

    def _text(self, candidates: Collection[_Candidate]) -> ProposedType:
        near = [each for each in candidates if each.evidence and each.matches > each.failures]
        if not near:
            return ProposedType(DataType.TEXT, self._values)
        nearest = max(near, key=lambda each: each.matches)
        examples = tuple(nearest.counterexamples)
        return ProposedType(
            DataType.TEXT, self._values, nearest=nearest.data_type, counterexamples=examples
        )


@cached_if_short
def _is_number(text: str) -> bool:
    """Whether a text is a decimal number that a double represents exactly."""
    return _NUMBER.fullmatch(text) is not None and exact_number(text) is not None


_NO_ORDERS: tuple[frozenset[DateFormat | None], bool] = (frozenset(), False)


@cached_if_short
def _date_orders(text: str) -> tuple[frozenset[DateFormat | None], bool]:
    """Returns the date formats in which a text is a date, and whether it means a date at all.

    Zero dates mean none. Seconds since 1970 and other numbers are not dates.
    """
    if not any(map(str.isdigit, text)) or text.replace(".", "", 1).isdigit():
        return _NO_ORDERS
    if is_date(text):
        return frozenset((None, *DateFormat)), True
    found: dict[DateFormat | None, str] = {}
    for order in (None, *DateFormat):
        try:
            found[order] = iso_date(text, order)
        except UnknownDate:
            continue
    valid = frozenset(order for order, date in found.items() if not date or is_date(date))
    return valid, any(map(found.get, valid))
