"""The documentation of an API: the reference, the guides, the event types and the search index."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor

from ..body import MAX_BODY_BYTES
from ..codec.strict_json import MAX_DEPTH, MAX_VALUES
from ..policy import DEFAULT, Policy
from ..routing.query import MAX_PARAMETERS
from . import search
from .document import Document
from .documentation import Documentation
from .errors import all_errors, common_codes
from .event_types import example_request, groups_of
from .fields import Fields
from .grpc_calls import methods_of
from .highlight import placeholder
from .markdown import GuideRenderer, RenderedGuide
from .navigation import (
    EVENT_TYPES,
    GUIDES,
    REFERENCE,
    Link,
    guide_groups,
    reference_groups,
    reference_links,
)
from .operations import resources_of
from .page import Page, page
from .parameters import parameters_of, shared_headers

_SCRIPTS = ("storage.js", "theme.js", "navigation.js", "search.js", "samples.js")
_REFERENCE_SCRIPTS = (
    *_SCRIPTS,
    "key.js",
    "highlight.js",
    "records.js",
    "response.js",
    "request.js",
    "live_samples.js",
    "try.js",
)
_LIMITS = {
    "size": f"{MAX_BODY_BYTES / (1 << 20):g} MiB",
    "depth": MAX_DEPTH,
    "count": f"{MAX_VALUES:,}",
    "parameters": MAX_PARAMETERS,
}


class Site:
    """The pages of an OpenAPI document; `webhooks` is the document of its webhooks.

    The services are those of the document: samples for gRPC are made from their descriptors.
    """

    def __init__(
        self,
        content: dict[str, Any],
        services: Iterable[ServiceDescriptor] = (),
        policy: Policy = DEFAULT,
        *,
        webhooks: dict[str, Any] | None = None,
        documentation: Documentation | None = None,
    ) -> None:
        self._document = Document(content)
        self._webhooks = webhooks
        self._policy = policy
        self._errors = all_errors(policy)
        self._documentation = documentation or Documentation()
        self._resources = resources_of(self._document, methods_of(services), self._documentation)
        self._events = tuple(groups_of(webhooks["webhooks"])) if webhooks else ()

    @cached_property
    def _guides(self) -> dict[str, RenderedGuide]:
        operations = [item for resource in self._resources for item in resource.operations]
        urls = {
            text: f"{REFERENCE}#{operation.anchor}"
            for operation in operations
            for text in (*operation.ids, *(f"{m} {operation.path}" for m in operation.methods))
        }
        urls |= {REFERENCE: REFERENCE, **({EVENT_TYPES: EVENT_TYPES} if self._webhooks else {})}
        renderer = GuideRenderer(self._documentation, urls, GUIDES)
        return {guide.name: renderer.render(guide) for guide in self._documentation.guides}

    def reference(self) -> Page:
        """Returns the reference of all operations."""
        document = self._document
        request_headers, response_headers = shared_headers(document)
        base = self._documentation.http_url
        return page(
            "reference.html.jinja",
            _REFERENCE_SCRIPTS,
            info=document.content["info"],
            navigation=[
                *guide_groups(self._guides.values(), ""),
                *reference_groups(self._resources, has_webhooks=bool(self._webhooks)),
            ],
            document=document,
            resources=self._resources,
            guides=list(self._guides.values()),
            base=placeholder("base", base),
            key_variable=self._documentation.key_variable,
            request_headers=request_headers,
            response_headers=response_headers,
            all_errors=self._errors,
            by_code={error.code: error for error in self._errors},
            common=common_codes(document),
            error_example=_error_example(document),
            limits=_LIMITS,
        )

    def guide(self, name: str) -> Page:
        """Returns the page of a guide."""
        guides = list(self._guides.values())
        number = list(self._guides).index(name)
        return page(
            "guide.html.jinja",
            _SCRIPTS,
            info=self._document.content["info"],
            navigation=[*guide_groups(guides, name), self._reference_links()],
            guide=guides[number],
            previous=guides[number - 1] if number else None,
            next=guides[number + 1] if number + 1 < len(guides) else None,
        )

    def event_types(self) -> Page:
        """Returns the page of the event types."""
        if self._webhooks is None or self._policy.webhooks is None:
            raise LookupError("this API has no webhooks")
        document, examples = Document(self._webhooks), self._policy.webhooks.examples()
        operation = next(iter(document.content["webhooks"].values()))["post"]
        headers = list(parameters_of(document, Fields(document), operation))
        links = tuple(
            Link(e.name, f"#{e.name}") for group in self._events for e in group.event_types
        )
        return page(
            "event_types.html.jinja",
            _SCRIPTS,
            info=document.content["info"],
            navigation=[*guide_groups(self._guides.values(), ""), self._reference_links(links)],
            groups=self._events,
            headers=[header.field for header in headers],
            request=example_request(headers, examples.signed),
            secret=examples.secret,
        )

    def search_index(self) -> bytes:
        """Returns the search index as JSON."""
        return search.index(self._resources, self._errors, self._guides.values(), self._events)

    def _reference_links(self, events: tuple[Link, ...] = ()) -> Any:
        return reference_links(self._resources, has_webhooks=bool(self._webhooks), events=events)


def _error_example(document: Document) -> str:
    """Returns an error response with details from the document; empty if it has none."""
    for response in document.components["responses"].values():
        for content in response["content"].values():
            for example in content.get("examples", {}).values():
                if example["value"]["error"]["details"]:
                    return json.dumps(example["value"], indent=2)
    return ""
