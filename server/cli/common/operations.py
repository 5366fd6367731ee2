"""Starts an operation of a service, waits for its end and prints it."""

from __future__ import annotations

import asyncio
from typing import Any

from ...serving.console import CommandError, ExitCode, echo, pluralized
from .output import print_json
from .progress import RowProgress
from .service_client import ServiceClient, run

# Seconds between requests for the state of the operation.
POLL_SECONDS = 0.5


def run_operation(client: ServiceClient, path: str, request: dict[str, Any]) -> dict[str, Any]:
    """Starts an operation with a POST to a path, and returns it when it has ended."""
    return run(
        _run(client, path, request),
        if_interrupted="Interrupted. The operation continues in the service.",
    )


def print_ended(operation: dict[str, Any], *, as_json: bool) -> None:
    """Prints an operation. Exits with a code if it did not succeed for each subscriber."""
    _print(operation, as_json=as_json)
    if operation["state"] != "SUCCEEDED":
        raise SystemExit(ExitCode.INCOMPLETE)
    if operation["failed"]:
        raise SystemExit(ExitCode.ROWS_FAILED)


async def _run(client: ServiceClient, path: str, request: dict[str, Any]) -> dict[str, Any]:
    """Starts an operation and returns it when it has ended."""
    async with client:
        operation: dict[str, Any] = (await client.post(path, request))["operation"]
        if not operation["done"]:
            noun = "Dry run" if operation["dryRun"] else "Operation"
            echo(f"{noun} {operation['id']} started.", err=True)
        with RowProgress(0, 0, noun="subscriber") as progress:
            while not operation["done"]:
                processed = operation["processed"]
                progress.show(processed, processed, operation["total"])
                await asyncio.sleep(POLL_SECONDS)
                operation = await _progress_of(client, operation["id"])
    return operation


async def _progress_of(client: ServiceClient, operation_id: str) -> dict[str, Any]:
    path = f"/api/operations/{operation_id}"
    try:
        operation: dict[str, Any] = (await client.get(path))["operation"]
    except CommandError as error:
        hint = f"The operation continues in the service. GET {path} returns its progress."
        raise error.with_hint(hint) from error
    return operation


def _print(operation: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json({"operation": operation})
        return
    is_dry_run, state = operation["dryRun"], operation["state"].capitalize()
    for failure in operation["failed"]:
        count = pluralized(failure["total"], "subscriber")
        failed = "cannot be changed" if is_dry_run else "not changed"
        examples = ", ".join(failure["examples"])
        such = f", such as {examples}" if examples else ""
        text = f"roster: {count} {failed}: {failure['reason']}{such}."
        echo(text, err=True)
    if "error" in operation:
        echo(f"roster: {operation['error']['message']}", err=True)
    processed = pluralized(operation["processed"], "subscriber")
    if is_dry_run:
        changes = f"{operation['wouldChange']:,} would change"
        echo("This was a dry run. Nothing was changed.")
    else:
        changes = f"{operation['changed']:,} changed"
    if operation.get("deleted"):
        changes += f" ({operation['deleted']:,} of them deleted)"
    unchanged = f"{operation['unchanged']:,} unchanged"
    excluded = f", {operation['excluded']:,} excluded" if operation.get("excluded") else ""
    echo(f"{state}: {processed} processed, {changes}, {unchanged}{excluded}.")
