"""roster batch"""

from __future__ import annotations

from typing import Any

import click
import orjson

from ..features.subscribers.fields import Status
from ..serving.console import CommandError, ExitCode, pluralized
from .common.endings import check_terminal, confirm_deletion
from .common.operations import print_ended, run_operation
from .common.options import Choice, api_key_option, json_option, search_option, url_option
from .common.service_client import ServiceClient

_PATH = "/api/subscribers/batch"
_CHOOSE_ACTION = "Choose one of --add-tag, --remove-tag, --set, --status, --delete."


@click.command()
@url_option
@api_key_option
@click.option(
    "--filter",
    "filter_expression",
    default="",
    metavar="EXPRESSION",
    help="Change subscribers that match this.",
)
@click.option("--segment", default="", metavar="ID", help="Change the subscribers of this segment.")
@search_option
@click.option("--add-tag", multiple=True, metavar="NAME", help="Add this tag. Repeatable.")
@click.option("--remove-tag", multiple=True, metavar="NAME", help="Remove this tag. Repeatable.")
@click.option(
    "--set",
    "set_field",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set this custom field to a number, true, false, null or a text."
    " A text such as 7 or true is quoted: KEY='\"7\"'. Repeatable.",
)
@click.option(
    "--status", type=Choice(status.name for status in Status), help="Change the status to this."
)
@click.option(
    "--consent-source",
    default="",
    metavar="TEXT",
    help="How the people asked for --status, as consent.",
)
@click.option("--delete", is_flag=True, help="Delete the subscribers.")
@click.option("--yes", is_flag=True, help="Delete without asking. Required without a terminal.")
@click.option(
    "--expected-total",
    type=click.IntRange(min=0),
    metavar="N",
    help="Start nothing unless about as many are selected.",
)
@click.option(
    "--exclude", multiple=True, metavar="ID", help="Do not change this subscriber. Repeatable."
)
@click.option("--dry-run", is_flag=True, help="Change nothing, and print what would change.")
@json_option
def batch(
    url: str,
    api_key: str,
    filter_expression: str,
    segment: str,
    search: str,
    add_tag: tuple[str, ...],
    remove_tag: tuple[str, ...],
    set_field: tuple[str, ...],
    status: str | None,
    consent_source: str,
    delete: bool,
    yes: bool,
    expected_total: int | None,
    exclude: tuple[str, ...],
    dry_run: bool,
    json: bool,
) -> None:
    """Change many subscribers at once, selected by a filter, a segment or a search.

    With several of these, only subscribers that match all of them are changed.

    The operation runs in the service. It continues if this command is interrupted, and after a
    restart of the service. GET /api/operations/ID returns its progress. With --delete, a dry run
    counts the subscribers and the deletion has to be confirmed, unless --yes is given. With
    --expected-total, nothing is changed if the number differs by more than 1 % and by more than 10.

    Exit codes: 1 if subscribers could not be changed, also by a dry run, 2 if an argument is
    invalid, 6 if the service cannot be reached, 7 if it rejects the request,
    8 if the operation did not succeed, and 130 if the command was interrupted
    or not confirmed.
    """
    action: dict[str, Any] = {
        "addTags": add_tag,
        "removeTags": remove_tag,
        "setCustomFields": dict(map(_assignment, set_field)),
        "changeStatus": status,
        "delete": delete,
    }
    action = {name: value for name, value in action.items() if value}
    if len(action) != 1:
        raise CommandError(_CHOOSE_ACTION, ExitCode.USAGE)
    if not (filter_expression or segment or search):
        raise CommandError("Set --filter, --segment or --search.", ExitCode.USAGE)
    if consent_source:
        if status is None:
            raise CommandError("--consent-source requires --status.", ExitCode.USAGE)
        action["consentSource"] = consent_source
    request = {
        "filter": filter_expression,
        "segmentId": segment,
        "q": search,
        "action": action,
        "dryRun": dry_run,
        "excludeIds": exclude,
    }
    if expected_total is not None:
        request["expectedTotal"] = expected_total
    client = ServiceClient(url, api_key)
    if delete and not dry_run and not yes:
        # Only about as many as were confirmed.
        request["expectedTotal"] = _confirm(client, request)
    print_ended(run_operation(client, _PATH, request), as_json=json)


def _confirm(client: ServiceClient, request: dict[str, Any]) -> int:
    """Asks whether to delete the selected subscribers, and returns their number.

    Raises CommandError if the answer is no.
    """
    check_terminal("--delete")
    dry_run = run_operation(client, _PATH, {**request, "dryRun": True})
    if dry_run["state"] != "SUCCEEDED":
        raise CommandError("The dry run failed. Nothing was deleted.", ExitCode.INCOMPLETE)
    confirm_deletion(pluralized(dry_run["wouldChange"], "subscriber"))
    return int(dry_run["total"])


def _assignment(text: str) -> tuple[str, Any]:
    """Returns the key and the value of KEY=VALUE. Raises CommandError."""
    key, separator, value = text.partition("=")
    if not key or not separator:
        raise CommandError(f"{text!r} is not KEY=VALUE.", ExitCode.USAGE)
    try:
        return key, orjson.loads(value)
    except ValueError:
        return key, value
