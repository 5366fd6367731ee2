"""Describes operations: one for each HTTP binding of an rpc."""

from __future__ import annotations

import re
from typing import Any

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from roster.v1 import http_pb2

from ..responses import REQUEST_ID
from ..routing.bindings import Binding
from . import bodies, field_locations, parameters
from .comments import comment, sentences
from .error_responses import ErrorResponses
from .paths import Path
from .reasons import reasons_of, takes_idempotency_key
from .schemas import Schemas

Operation = dict[str, Any]

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
# The response to a form.
_REDIRECT = {
    "description": "The call succeeded, and the form contains an allowed URL.",
    "headers": {
        REQUEST_ID: {"$ref": f"#/components/headers/{REQUEST_ID}"},
        "Location": {"description": "The URL.", "schema": {"type": "string"}},
    },
}
_API = re.compile(r"\b[Aa]pi\b")


class Operations:
    """Builds operations. Their schemas and error responses become components."""

    def __init__(self) -> None:
        self.schemas = Schemas()
        self.error_responses = ErrorResponses(self.schemas)
        self._ids: set[str] = set()

    def of(self, binding: Binding, method: MethodDescriptor, verb: str, path: Path) -> Operation:
        """Returns the operation of a binding; `verb` is its HTTP method, in lower case."""
        body = bodies.request_body(binding, self.schemas)
        other = binding.conditional_status
        text = comment(method)
        return {
            "operationId": self._id(method.name, verb),
            "tags": [tag_of(method.containing_service)],
            **({"summary": sentences(text)[0].rstrip(".")} if text else {}),
            "description": "\n\n".join(filter(None, [text, _access(method)])),
            **_security(method),
            "parameters": _parameters(binding, method, path),
            **({"requestBody": body} if body else {}),
            "responses": {
                str(binding.success_status): self._success(binding, method),
                **({str(other.status): self._success(binding, method)} if other else {}),
                **({"303": _REDIRECT} if binding.form and binding.form.redirect else {}),
                **self.error_responses.of(method, reasons_of(method), _error_media_type(binding)),
            },
        }

    def _id(self, rpc: str, verb: str) -> str:
        """Returns a unique ID: the name of the rpc, with the HTTP method for further bindings."""
        name = f"{rpc}By{verb.capitalize()}" if rpc in self._ids else rpc
        count, unique = 1, name
        while unique in self._ids:
            count, unique = count + 1, f"{name}{count + 1}"
        self._ids.add(unique)
        return unique

    def _success(self, binding: Binding, method: MethodDescriptor) -> dict[str, Any]:
        names = [REQUEST_ID, "RateLimit", "RateLimit-Policy"]
        if takes_idempotency_key(method):
            names.append("Idempotency-Replayed")
        if binding.next_link is not None:
            names.append("Link")
        content = {}
        if binding.success_status != 204:
            content = {"content": bodies.success_content(binding, self.schemas)}
        return {
            "description": comment(method.output_type) or "The call succeeded.",
            "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
            **content,
        }


def _error_media_type(binding: Binding) -> str:
    """Returns the media type that errors can have besides JSON; empty if there is none."""
    if binding.form is not None:
        return bodies.HTML
    return bodies.response_media_type(binding.method) if binding.returns_http_body else ""


def tag_of(service: ServiceDescriptor) -> str:
    """Returns the tag of a service's operations, such as "API keys"."""
    return f"{words(service.name.removesuffix('Service'))}s"


def words(name: str) -> str:
    """Returns a name as separate words: CreateApiKey is "Create API key"."""
    return _API.sub("API", " ".join(_CAMEL.split(name)).capitalize())


def _access(method: MethodDescriptor) -> str:
    access = method.GetOptions().Extensions[http_pb2.access]
    if access.public:
        return "No API key is required."
    if not access.scope:
        return ""
    verified = " Requires a verified email address of the account." if access.verified_email else ""
    return f"{scope_requirement(access.scope)}{verified}"


def scope_requirement(scope: str) -> str:
    """Returns the sentence that states the required scope."""
    return f"Requires a key of scope {scope}."


def _security(method: MethodDescriptor) -> dict[str, Any]:
    access = method.GetOptions().Extensions[http_pb2.access]
    if access.public:
        return {"security": []}
    if not access.scope:
        return {}
    return {"security": [{"bearer": []}, {"apiKey": []}], "x-scope": access.scope}


def _parameters(binding: Binding, method: MethodDescriptor, path: Path) -> list[dict[str, Any]]:
    return [
        *map(parameters.in_path, path.parameters),
        *(parameters.in_query(fields) for fields in field_locations.in_query(binding)),
        *parameters.shared(idempotency_key=takes_idempotency_key(method)),
    ]
