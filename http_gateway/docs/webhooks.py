"""Renders the guide to receiving webhooks, with an example of every event type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import orjson

from ..openapi.events import webhook_examples
from .document import Document
from .fields import Fields
from .highlight import highlight
from .literals import JSON, laid_out
from .operations import Parameter, parameters_of
from .page import Rendered, rendered
from .samples import Sample

_SCRIPTS = ("store.js", "theme.js", "navigation.js", "samples.js")
_OVERVIEW = (
    ("introduction", "Introduction"),
    ("request", "Request format"),
    ("receiving", "Receiving events"),
    ("duplicates", "Duplicates and order"),
    ("retries", "Retries"),
    ("endings", "Failing endpoints"),
    ("catching-up", "Missed events"),
    ("secrets", "Secrets"),
    ("addresses", "Addresses"),
)
_RECEIVERS = (
    ("python", "Python", "receiver.py"),
    ("javascript", "JavaScript", "receiver.mjs"),
    ("go", "Go", "receiver.go"),
)
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True)
class Kind:
    """A kind of event: its name, when it happens, and one of them."""

    name: str
    about: str
    example: dict[str, Any]

    @property
    def text(self) -> str:
        """The example, laid out for people."""
        return laid_out(self.example, JSON)

    @property
    def changed(self) -> tuple[str, ...]:
        """The names of what was something else before."""
        return tuple(self.example.get("previous", ()))


@dataclass(frozen=True)
class Group:
    """The kinds of what happens to one thing, and what a link to them names."""

    name: str
    anchor: str
    kinds: tuple[Kind, ...]


def render(content: dict[str, Any]) -> Rendered:
    """Makes the page of the OpenAPI document about webhooks."""
    document = Document(content)
    operation = next(iter(content["webhooks"].values()))["post"]
    headers = list(parameters_of(document, Fields(document), operation))
    return rendered(
        "webhooks.html.jinja",
        _SCRIPTS,
        info=content["info"],
        overview=_OVERVIEW,
        groups=list(_groups(content["webhooks"])),
        headers=[header.field for header in headers],
        request=_request(headers),
        secret=webhook_examples().secret,
        receivers=list(_receivers()),
        delivery=webhook_examples().delivery,
        duration=duration,
    )


def duration(seconds: int) -> str:
    """Returns a length of time in words, in the greatest unit of which it is several."""
    length, unit = next(each for each in _UNITS if seconds >= 2 * each[0])
    return f"{seconds // length} {unit}s"


def _groups(webhooks: dict[str, Any]) -> Iterator[Group]:
    found: dict[str, list[Kind]] = {}
    for name, item in webhooks.items():
        operation = item["post"]
        (body,) = operation["requestBody"]["content"].values()
        kind = Kind(name, operation["description"], body["example"])
        found.setdefault(name.partition(".")[0], []).append(kind)
    for thing, kinds in found.items():
        words = thing.replace("_", " ").capitalize()
        yield Group(f"{words}s", f"{thing}s", tuple(kinds))


def _receivers() -> Iterator[Sample]:
    folder = files(__package__) / "receivers"
    for language, name, file in _RECEIVERS:
        text = (folder / file).read_text().rstrip().replace("\t", "  ")
        yield Sample(language, name, highlight(text, language))


def _request(headers: list[Parameter]) -> str:
    """Returns a request as it is sent, to the byte, so that readers can verify it."""
    lines = [f"{header.field.name}: {header.example}" for header in headers]
    body = orjson.dumps(webhook_examples().signed).decode()
    return "\n".join(["Content-Type: application/json", *lines, "", body])
