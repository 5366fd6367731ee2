"""Options of the imports of subscribers and of suppressions."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class OnConflict(StrEnum):
    """Actions for a row whose address is already taken."""

    FAIL = "fail"
    SKIP = "skip"
    UPDATE = "update"


class UnknownColumns(StrEnum):
    """Actions for unknown columns."""

    FAIL = "fail"
    IGNORE = "ignore"
    CREATE_FIELDS = "create-fields"


class DateFormat(StrEnum):
    """The orders of day, month and year in numeric dates."""

    MDY = "mdy"
    DMY = "dmy"
    YMD = "ymd"


DateFormatOption = Annotated[
    DateFormat | None,
    typer.Option(
        case_sensitive=False,
        help="Order of day, month and year in dates such as 12/31/2024. Default: such dates are"
        " not accepted.",
    ),
]
NullTokens = Annotated[
    list[str] | None,
    typer.Option(
        "--null-token",
        metavar="TEXT",
        help="Cell of a CSV file that has no value, such as NULL. Can be repeated.",
    ),
]


def given_options(**options: str | list[str]) -> dict[str, str | list[str]]:
    """Returns the options for the service that are set."""
    return {name: value for name, value in options.items() if value}
