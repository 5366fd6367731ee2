"""Generates the OpenAPI 3.1 documents from the descriptors.

`/openapi.json` describes the HTTP API. Bindings, bounds, success statuses, error reasons,
examples and descriptions all come from the protos, so a new rpc needs no change here.
`/openapi/webhooks.json` describes the requests that are sent to webhooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor

from ..routing.bindings import ANY_METHOD, Binding, bindings_of
from ..routing.query import MAX_PARAMETERS
from . import parameters, webhooks
from .comments import comment
from .headers import HEADERS
from .info import ApiInfo
from .operations import Operations, tag_of
from .paths import Paths, has_rest
from .schemas import Schemas

_VERSION = "3.1.0"
_METHODS = frozenset({"delete", "get", "head", "options", "patch", "post", "put", "trace"})
_DESCRIPTION = f"""\
Bodies are JSON in UTF-8. \
Timestamps in responses are in UTC with three fractional digits, such as 2026-01-02T03:04:05.000Z. \
Unknown keys and query parameters are rejected, and the error names them.

- An operation without a request body accepts an empty body or `{{}}` and nothing else, including \
GET and DELETE.
- In a body, null is treated as an absent key unless the field documents otherwise.
- A key can also be the name of the field in the protos. Values can also have the other forms of \
ProtoJSON: a number as a string, an enum by its number.
- A query has at most {MAX_PARAMETERS} parameters; each repetition counts.
- Every path with GET also supports HEAD. Every path supports OPTIONS and lists the supported \
methods in `Allow`.
- The `traceparent` header of a request is propagated.

All errors have the same shape, an `ErrorBody` under the key `error`. If a request has several \
faults, an invalid API key is reported first (401), then 413 and 415, 403, and last 400, 404 and \
409."""
_ABOUT_WEBHOOKS = f"""

Requests to webhooks are described in `/openapi/webhooks.json`. Their bodies are the schema \
`{webhooks.PAYLOAD}`."""
_WEBHOOKS_DESCRIPTION = """\
The requests to the webhooks of an account, one for each type of event. The API itself is in \
`/openapi.json`."""
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
        "description": "The same API key, in a separate header.",
    },
}


_UNNAMED = ApiInfo()


def document(services: Sequence[ServiceDescriptor], about: ApiInfo = _UNNAMED) -> dict[str, Any]:
    """Returns the OpenAPI document of services."""
    operations, paths, tags = Operations(), Paths(), dict[str, str]()
    for service, binding in _bound(services):
        method = service.methods_by_name[binding.rpc.rpartition("/")[2]]
        path, verbs = paths.path_of(binding, _verbs(binding))
        for verb in verbs:
            operation = operations.of(binding, method, verb, path)
            paths.items.setdefault(path.text, {})[verb] = operation
            tags.setdefault(tag_of(service), comment(service))
    has_webhooks = webhooks.sends_webhooks(services)
    if has_webhooks:
        webhooks.components(operations.schemas, about.event_descriptions)
    return {
        "openapi": _VERSION,
        "info": _info(about, _DESCRIPTION + (_ABOUT_WEBHOOKS if has_webhooks else "")),
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in tags.items()],
        "paths": paths.items,
        "components": {
            "schemas": operations.schemas.components,
            "responses": operations.error_responses.components,
            "parameters": parameters.COMPONENTS,
            "headers": HEADERS,
            "securitySchemes": _SECURITY,
        },
    }


def webhooks_document(about: ApiInfo = _UNNAMED) -> dict[str, Any]:
    """Returns the OpenAPI document of the requests that are sent to webhooks."""
    schemas = Schemas()
    webhooks.components(schemas, about.event_descriptions)
    return {
        "openapi": _VERSION,
        "info": _info(about, _WEBHOOKS_DESCRIPTION),
        "servers": [{"url": "/"}],
        "tags": [webhooks.tag()],
        "webhooks": webhooks.section(about.event_descriptions),
        "components": {"schemas": schemas.components, "parameters": webhooks.parameters()},
    }


def _info(about: ApiInfo, description: str) -> dict[str, str]:
    return {
        "title": about.title,
        "summary": about.summary,
        "description": description,
        "version": about.version,
    }


def _bound(services: Iterable[ServiceDescriptor]) -> list[tuple[ServiceDescriptor, Binding]]:
    """Returns every binding with its service. Bindings with a wildcard path or method come last."""
    bound = [(service, binding) for service in services for binding in bindings_of(service)]
    return sorted(bound, key=_is_wildcard)


def _is_wildcard(bound: tuple[ServiceDescriptor, Binding]) -> tuple[bool, bool]:
    _, binding = bound
    return has_rest(binding), binding.http_method == ANY_METHOD


def _verbs(binding: Binding) -> list[str]:
    """Returns the methods of a binding that OpenAPI supports."""
    if binding.http_method == ANY_METHOD:
        return sorted(_METHODS - {"head", "options", "trace"})
    return [verb for verb in _METHODS if verb == binding.http_method.lower()]
