"""roster mailability"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from ..serving.console import echo
from .common.options import api_key_option, json_option, url_option
from .common.output import print_json
from .common.service_client import ServiceClient, run


@click.command()
@click.argument("person", metavar="ADDRESS", help="Email address, or ID of a subscriber.")
@url_option
@api_key_option
@json_option
def mailability(person: str, url: str, api_key: str, json: bool) -> None:
    """Print whether a person may be mailed, and why not.

    Addresses without a subscriber have an answer too. --json prints the response of GET
    /api/subscribers/ADDRESS/mailability.

    Exit codes: 2 if an argument is invalid, 6 if the service cannot be
    reached, and 7 if it rejects the request.
    """
    answer = run(_answer(ServiceClient(url, api_key), person))
    if json:
        print_json(answer)
    else:
        echo("\n".join(_lines(person, answer)))


async def _answer(client: ServiceClient, person: str) -> dict[str, Any]:
    async with client:
        answer: dict[str, Any] = await client.get(
            f"/api/subscribers/{quote(person, safe='')}/mailability"
        )
    return answer


def _lines(person: str, answer: dict[str, Any]) -> list[str]:
    since = f" since {answer['since']}" if "since" in answer else ""
    actor = answer.get("actor", {})
    name = f' "{actor["name"]}"' if actor.get("name") else ""
    how = "by an import of" if answer.get("source") == "IMPORT" else "by"
    by = f", {how} {actor['type']}{name}" if actor else ""
    lines = [
        f"{person} {'may' if answer['mayBeMailed'] else 'must not'} be mailed:"
        f" {answer['reason']}{since}{by}."
    ]
    if answer["suppressed"]:
        lines.append("The address is suppressed.")
    if answer["allowedStatuses"]:
        lines.append(f"Can be changed to: {', '.join(answer['allowedStatuses'])}.")
    return lines
