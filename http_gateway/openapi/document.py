"""`/openapi.json`: what HTTP can be asked for, in OpenAPI 3.1, made from the descriptors.

Everything that can be asked for is declared in the protos: bindings, bounds, success
statuses, reasons for refusal, examples, and the comments. A new rpc needs no line here.

`/openapi/webhooks.json` is the same for what is sent to webhooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import metadata
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor

from ..routing.bindings import ANY_METHOD, Binding, bindings_of
from ..routing.query import MAX_PARAMETERS
from . import parameters, webhooks
from .comments import comment
from .headers import HEADERS
from .operations import Operations, tag_of
from .paths import Paths, takes_rest
from .schemas import Schemas

_VERSION = "3.1.0"
_DISTRIBUTION = "roster"
_METHODS = frozenset({"delete", "get", "head", "options", "patch", "post", "put", "trace"})
_DESCRIPTION = f"""\
Bodies are JSON in UTF-8. An operation without a request body accepts an empty body or `{{}}` and \
nothing else; this holds for GET and DELETE too. In a body, null is the same as an absent key, \
unless the field says otherwise, and a key may also be the name that the field has in the protos. \
Values may also have the other forms of ProtoJSON: a number as text, an enum by its number. \
Timestamps in responses are in UTC with three fractional digits, such as 2026-01-02T03:04:05.000Z. \
Unknown keys and query parameters are refused, and named. \
A query has at most {MAX_PARAMETERS} parameters, one that is repeated counted each time.

Whatever has GET also takes HEAD; every path takes OPTIONS and says in `Allow` what else it takes. \
A `traceparent` that comes with a request is passed on.

Every error, from whatever layer, has one shape, an `ErrorBody` under the key `error`. A call with \
a bad key is a 401 whatever else is wrong with it; then come 413 and 415, 403, and only then 400, \
404 and 409."""
_ABOUT_WEBHOOKS = f"""

Requests to webhooks are described in `/openapi/webhooks.json`. Their bodies are the schema \
`{webhooks.PAYLOAD}`."""
_WEBHOOKS_DESCRIPTION = """\
The requests that Roster sends to the webhooks of an account, one for each type of event. The API \
itself is in `/openapi.json`."""
_SECURITY = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, as `Authorization: Bearer <key>`.",
    },
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The same key, in a header of its own.",
    },
}


def document(services: Sequence[ServiceDescriptor]) -> dict[str, Any]:
    """Returns what some services offer over HTTP, ready to be written as JSON."""
    operations, paths, tags = Operations(), Paths(), dict[str, str]()
    for service, binding in _bound(services):
        method = service.methods_by_name[binding.rpc.rpartition("/")[2]]
        path, verbs = paths.place(binding, _verbs(binding))
        for verb in verbs:
            operation = operations.of(binding, method, verb, path)
            paths.items.setdefault(path.text, {})[verb] = operation
            tags.setdefault(tag_of(service), comment(service))
    sends = webhooks.are_sent_by(services)
    if sends:
        webhooks.components(operations.schemas)
    return {
        "openapi": _VERSION,
        "info": _info(_DESCRIPTION + (_ABOUT_WEBHOOKS if sends else "")),
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in tags.items()],
        "paths": paths.items,
        "components": {
            "schemas": operations.schemas.components,
            "responses": operations.refusals.components,
            "parameters": parameters.COMPONENTS,
            "headers": HEADERS,
            "securitySchemes": _SECURITY,
        },
    }


def webhooks_document() -> dict[str, Any]:
    """Returns what the service sends to webhooks, ready to be written as JSON."""
    schemas = Schemas()
    webhooks.components(schemas)
    return {
        "openapi": _VERSION,
        "info": _info(_WEBHOOKS_DESCRIPTION),
        "servers": [{"url": "/"}],
        "tags": [webhooks.tag()],
        "webhooks": webhooks.section(),
        "components": {"schemas": schemas.components, "parameters": webhooks.parameters()},
    }


def _info(description: str) -> dict[str, str]:
    about = metadata(_DISTRIBUTION)
    return {
        "title": about["Name"].capitalize(),
        "summary": about["Summary"],
        "description": description,
        "version": about["Version"],
    }


def _bound(services: Iterable[ServiceDescriptor]) -> list[tuple[ServiceDescriptor, Binding]]:
    """Returns every binding with its service; last those that leave to others what these take."""
    bound = [(service, binding) for service in services for binding in bindings_of(service)]
    return sorted(bound, key=lambda each: (takes_rest(each[1]), each[1].http_method == ANY_METHOD))


def _verbs(binding: Binding) -> list[str]:
    """Returns the methods of a binding, less those that OpenAPI has no word for."""
    if binding.http_method == ANY_METHOD:
        return sorted(_METHODS - {"head", "options", "trace"})
    return [verb for verb in _METHODS if verb == binding.http_method.lower()]
