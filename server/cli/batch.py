"""roster batch"""

from __future__ import annotations

from typing import Annotated, Any

import orjson
import typer

from ..serving.console import CommandError, ExitCode, pluralized
from .common.endings import check_terminal, confirm_deletion
from .common.operations import print_ended, run_operation
from .common.options import LOCAL_URL, ApiKey, Json, Search, Url
from .common.service_client import ServiceClient
from .export import StatusName

_PATH = "/api/subscribers/batch"
_CHOOSE_ACTION = "Choose one of --add-tag, --remove-tag, --set, --status, --delete."


def batch(
    url: Url = LOCAL_URL,
    api_key: ApiKey = "",
    filter_expression: Annotated[
        str,
        typer.Option("--filter", metavar="EXPRESSION", help="Change subscribers that match this."),
    ] = "",
    segment: Annotated[
        str, typer.Option(metavar="ID", help="Change the subscribers of this segment.")
    ] = "",
    search: Search = "",
    add_tag: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Add this tag. Repeatable.")
    ] = None,
    remove_tag: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Remove this tag. Repeatable.")
    ] = None,
    set_field: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set this custom field to a number, true, false, null or a text."
            " A text such as 7 or true is quoted: KEY='\"7\"'. Repeatable.",
        ),
    ] = None,
    status: Annotated[
        StatusName | None, typer.Option(case_sensitive=False, help="Change the status to this.")
    ] = None,
    consent_source: Annotated[
        str, typer.Option(metavar="TEXT", help="How the people asked for --status, as consent.")
    ] = "",
    delete: Annotated[bool, typer.Option("--delete", help="Delete the subscribers.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete without asking. Required without a terminal.")
    ] = False,
    expected_total: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Start nothing unless about as many are selected."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Do not change this subscriber. Repeatable."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing, and print what would change.")
    ] = False,
    json: Json = False,
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
        "setCustomFields": dict(map(_assignment, set_field or ())),
        "changeStatus": status and status.value,
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
        "excludeIds": exclude or [],
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
