"""Generates the OpenAPI 3.1 documents from the descriptors.

`/openapi.json` describes the HTTP API. Bindings, bounds, success statuses, error reasons,
examples and descriptions all come from the protos, so a new rpc needs no change here.
`/openapi/webhooks.json` describes the requests that are sent to webhooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor

from ..policy import DEFAULT, Annotations, ApiInfo, Policy
from ..routing.bindings import ANY_METHOD, Binding, bindings_of
from ..routing.query import MAX_PARAMETERS
from . import webhooks
from .comments import comment
from .operations import Operations, tag_of
from .paths import Paths, has_rest
from .schemas import Schemas

_VERSION = "3.1.0"
_METHODS = frozenset({"delete", "get", "head", "options", "patch", "post", "put", "trace"})
_DESCRIPTION = f"""\
Bodies are JSON in UTF-8, except those of streams, forms and pages. \
Timestamps in responses are in UTC with three fractional digits, such as 2026-01-02T03:04:05.000Z. \
Unknown keys and query parameters are rejected, and the error names them.

- Operations without a request body, including GET and DELETE, accept only an empty body or `{{}}`.
- In a body, null is treated as an absent key unless the field documents otherwise.
- Requests can also use the other forms of ProtoJSON: the field names of the protos as keys, a \
number as a string, an enum value by its number.
- A query has at most {MAX_PARAMETERS} parameters; each repetition counts.
- Every path with GET also supports HEAD. Every path supports OPTIONS and lists the supported \
methods in `Allow`.
- The trace context in the `traceparent` header of a request is propagated.

All errors have the same shape, an `ErrorBody` under the key `error`."""
_ABOUT_WEBHOOKS = f"""

Requests to webhooks are described in `/openapi/webhooks.json`. Their bodies are the schema \
`{webhooks.PAYLOAD}`."""
_WEBHOOKS_DESCRIPTION = """\
The requests to the webhooks of an account, one for each type of event. The API itself is in \
`/openapi.json`."""


def document(services: Sequence[ServiceDescriptor], policy: Policy = DEFAULT) -> dict[str, Any]:
    """Returns the OpenAPI document of services."""
    operations, paths, tags = Operations(policy), Paths(), dict[str, str]()
    for service, binding in _bound(services, policy.annotations):
        method = service.methods_by_name[binding.rpc.rpartition("/")[2]]
        path, verbs = paths.path_of(binding, _verbs(binding))
        for verb in verbs:
            operation = operations.of(binding, method, verb, path)
            paths.items.setdefault(path.text, {})[verb] = operation
            tags.setdefault(tag_of(service), comment(service, policy))
    description = f"{_DESCRIPTION} {policy.about.description}".rstrip()
    sent = policy.webhooks_of(services)
    if sent is not None:
        webhooks.components(operations.schemas, sent)
        description += _ABOUT_WEBHOOKS
    return {
        "openapi": _VERSION,
        "info": _info(policy.about, description),
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in tags.items()],
        "paths": paths.items,
        "components": {
            "schemas": operations.schemas.components,
            "responses": operations.error_responses.components,
            "parameters": operations.parameters,
            "headers": operations.headers,
            **({"securitySchemes": policy.security} if policy.security else {}),
        },
    }


def webhooks_document(policy: Policy) -> dict[str, Any]:
    """Returns the OpenAPI document of the requests that are sent to webhooks."""
    assert policy.webhooks is not None
    schemas = Schemas(policy)
    webhooks.components(schemas, policy.webhooks)
    return {
        "openapi": _VERSION,
        "info": _info(policy.about, _WEBHOOKS_DESCRIPTION),
        "servers": [{"url": "/"}],
        "tags": [webhooks.tag(policy.webhooks.service, policy)],
        "webhooks": webhooks.section(policy.webhooks),
        "components": {
            "schemas": schemas.components,
            "parameters": webhooks.parameters(policy.webhooks),
        },
    }


def _info(about: ApiInfo, description: str) -> dict[str, str]:
    return {
        "title": about.title,
        "summary": about.summary,
        "description": description,
        "version": about.version,
    }


def _bound(
    services: Iterable[ServiceDescriptor], annotations: Annotations
) -> list[tuple[ServiceDescriptor, Binding]]:
    """Returns every binding with its service. Bindings with a wildcard path or method come last."""
    bound = [(s, binding) for s in services for binding in bindings_of(s, annotations)]
    return sorted(bound, key=_is_wildcard)


def _is_wildcard(bound: tuple[ServiceDescriptor, Binding]) -> tuple[bool, bool]:
    _, binding = bound
    return has_rest(binding), binding.http_method == ANY_METHOD


def _verbs(binding: Binding) -> list[str]:
    """Returns the methods of a binding that OpenAPI supports."""
    if binding.http_method == ANY_METHOD:
        return sorted(_METHODS - {"head", "options", "trace"})
    return [verb for verb in _METHODS if verb == binding.http_method.lower()]
