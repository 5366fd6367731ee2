"""The navigation of the reference pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .markdown import RenderedGuide
from .operations import Resource

REFERENCE = "/docs"
EVENT_TYPES = "/docs/webhooks"
GUIDES = "/docs/guides/"
TOPICS = (
    ("introduction", "Introduction"),
    ("conventions", "Conventions"),
    ("errors", "Errors"),
    ("limits", "Limits"),
    ("streams", "Streams"),
    ("headers", "Headers"),
)


@dataclass(frozen=True)
class Link:
    """A link with an HTTP method as its badge, and links to sections of the current page."""

    name: str
    url: str
    method: str = ""
    links: tuple[Link, ...] = ()
    is_current: bool = False


@dataclass(frozen=True)
class Group:
    """A heading and the links below it."""

    name: str
    links: tuple[Link, ...]


def guide_groups(guides: Iterable[RenderedGuide], current: str) -> list[Group]:
    """Returns the guides by group; the current one with its sections."""
    groups: dict[str, list[Link]] = {}
    for rendered in guides:
        is_current = rendered.guide.name == current
        sections = rendered.sections[1:] if is_current else ()
        links = tuple(Link(section.title, f"#{section.anchor}") for section in sections)
        url = GUIDES + rendered.guide.name
        link = Link(rendered.title, url, links=links, is_current=is_current)
        groups.setdefault(rendered.guide.group, []).append(link)
    return [Group(name, tuple(links)) for name, links in groups.items()]


def reference_groups(resources: Iterable[Resource], *, has_webhooks: bool) -> list[Group]:
    """Returns the links of the reference itself: topics, and the operations by resource."""
    topics = [Link(name, f"#{anchor}") for anchor, name in TOPICS]
    operations = [
        Group(
            resource.name,
            tuple(Link(o.title, f"#{o.anchor}", o.methods[0]) for o in resource.operations),
        )
        for resource in resources
    ]
    events = [Link("Event types", EVENT_TYPES)] if has_webhooks else []
    return [Group("API reference", (*topics, *events)), *operations]


def reference_links(
    resources: Iterable[Resource], *, has_webhooks: bool, events: tuple[Link, ...] = ()
) -> Group:
    """Returns the links from another page to the reference.

    `events` are the links to event types on their own page.
    """
    links = [Link("Introduction", REFERENCE)]
    links += [Link(resource.name, f"{REFERENCE}#{resource.anchor}") for resource in resources]
    links.append(Link("Errors", f"{REFERENCE}#errors"))
    if has_webhooks:
        links.append(Link("Event types", EVENT_TYPES, links=events, is_current=bool(events)))
    return Group("API reference", tuple(links))
