"""roster operations"""

from __future__ import annotations

from urllib.parse import quote

import click

from .common.operations import print_ended, run_operation
from .common.options import api_key_option, json_option, url_option
from .common.service_client import ServiceClient


@click.group()
def app() -> None:
    """Undo operations."""


@app.command()
@click.argument("operation", metavar="ID", help="The operation to undo.")
@url_option
@api_key_option
@click.option("--dry-run", is_flag=True, help="Change nothing, and print what would be undone.")
@json_option
def undo(operation: str, url: str, api_key: str, dry_run: bool, json: bool) -> None:
    """Undo what an operation changed, within 24 hours after its end.

    Subscribers get the tags, custom field values and statuses from before the operation, as far as
    they still are as the operation left them. What was changed since is printed and stays.
    Deletions cannot be undone. The undo of a status needs a key of scope admin.

    Exit codes: 1 if changes could not be undone, also by a dry run, 6 if the service cannot be
    reached, 7 if it rejects the request, 8 if the undo did not succeed, and 130 if the command was
    interrupted; the undo then continues in the service.
    """
    path = f"/api/operations/{quote(operation, safe='')}/undo"
    undone = run_operation(ServiceClient(url, api_key), path, {"dryRun": dry_run})
    print_ended(undone, as_json=json)
