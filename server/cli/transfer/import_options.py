"""Options of the imports of subscribers and of suppressions."""

from __future__ import annotations

from enum import StrEnum

import click

from ..common.options import Choice


class OnConflict(StrEnum):
    """Actions for a row whose address is already taken."""

    FAIL = "fail"
    SKIP = "skip"
    UPDATE = "update"


date_format_option = click.option(
    "--date-format",
    type=Choice(["mdy", "dmy", "ymd"]),
    help="Order of day, month and year in dates such as 12/31/2024. Default: such dates are"
    " not accepted.",
)
null_token_option = click.option(
    "--null-token",
    multiple=True,
    metavar="TEXT",
    help="Cell of a CSV file that has no value, such as NULL. Repeatable.",
)


def given_options(**options: str | tuple[str, ...]) -> dict[str, str | list[str]]:
    """Returns the options for the service that are set."""
    return {
        name: value if isinstance(value, str) else [*value]
        for name, value in options.items()
        if value
    }
