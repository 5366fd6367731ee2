"""`/openapi.json`: what HTTP can be asked for, in OpenAPI 3.1, made from the descriptors.

Everything in it is declared in the protos: bindings, bounds, success statuses, reasons
for refusal, examples, and the comments. A new rpc needs no line here.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import metadata
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor

from ..routing.bindings import ANY_METHOD, Binding, bindings_of
from . import parameters
from .comments import comment
from .headers import HEADERS
from .operations import Operations, tag_of
from .places import path_of

_DISTRIBUTION = "roster"
_METHODS = frozenset({"delete", "get", "head", "options", "patch", "post", "put", "trace"})
_DESCRIPTION = """\
Bodies are JSON in UTF-8. In a body, null stands for an absent key, and a key may also be the name \
that the field has in the protos. Unknown keys and query parameters are refused, and named.

Whatever has GET also takes HEAD; every path takes OPTIONS and says in `Allow` what else it takes. \
A `traceparent` that comes with a request is passed on.

Every error, from whatever layer, has one shape, an `Error` under the key `error`. A call with a \
bad key is a 401 whatever else is wrong with it; then come 413 and 415, 403, and only then 400, \
404 and 409."""
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


def document(services: Iterable[ServiceDescriptor]) -> dict[str, Any]:
    """Returns what some services offer over HTTP, ready to be written as JSON."""
    operations = Operations()
    paths: dict[str, dict[str, Any]] = {}
    tags = []
    for service in services:
        bindings = list(bindings_of(service))
        if bindings:
            tags.append({"name": tag_of(service), "description": comment(service)})
        for binding in bindings:
            method = service.methods_by_name[binding.rpc.rpartition("/")[2]]
            item = paths.setdefault(path_of(binding), {})
            item |= {verb: operations.of(binding, method, verb) for verb in _verbs(binding)}
    about = metadata(_DISTRIBUTION)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": about["Name"].capitalize(),
            "summary": about["Summary"],
            "description": _DESCRIPTION,
            "version": about["Version"],
        },
        "servers": [{"url": "/"}],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": operations.schemas.components,
            "responses": operations.refusals.components,
            "parameters": parameters.COMPONENTS,
            "headers": HEADERS,
            "securitySchemes": _SECURITY,
        },
    }


def _verbs(binding: Binding) -> list[str]:
    """Returns the methods of a binding, less those that OpenAPI has no word for."""
    if binding.http_method == ANY_METHOD:
        return sorted(_METHODS - {"head", "options", "trace"})
    return [verb for verb in _METHODS if verb == binding.http_method.lower()]
