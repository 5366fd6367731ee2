"""Describes operations: one for each HTTP binding of an rpc."""

from __future__ import annotations

import re
from typing import Any

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from ..policy import MethodOptions, Policy
from ..responses import REQUEST_ID
from ..routing.bindings import Binding
from . import bodies, field_locations, parameters
from .comments import comment, sentences
from .error_responses import ErrorResponses
from .headers import COOKIE_HEADER, DEPRECATION_HEADERS, headers_of, of_field
from .paths import Path
from .schemas import Schemas
from .values import deprecated

Operation = dict[str, Any]

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
# The response to a condition.
_NOT_MODIFIED = {
    "description": "The client has the current content.",
    "headers": {REQUEST_ID: {"$ref": f"#/components/headers/{REQUEST_ID}"}},
}
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
    """Builds operations. Their schemas, error responses and headers become components."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.schemas = Schemas(policy)
        self.error_responses = ErrorResponses(self.schemas)
        self.parameters = parameters.components(policy)
        self.headers = headers_of(policy)
        self._ids: set[str] = set()

    def of(self, binding: Binding, method: MethodDescriptor, verb: str, path: Path) -> Operation:
        """Returns the operation of a binding; `verb` is its HTTP method, in lower case."""
        policy, options = self._policy, self._policy.annotations.of_method(method)
        body = bodies.request_body(binding, self.schemas)
        other = binding.conditional_status
        text, reasons = comment(method, policy), policy.errors.reasons_of(method)
        return {
            "operationId": self._id(method.name, verb),
            "tags": [tag_of(method.containing_service)],
            **({"summary": sentences(text)[0].rstrip(".")} if text else {}),
            "description": "\n\n".join(filter(None, [text, _access(options)])),
            **deprecated(method),
            **_security(options, policy),
            "parameters": self._parameters(binding, method, path),
            **({"requestBody": body} if body else {}),
            "responses": {
                str(binding.success_status): self._success(binding, method),
                **({str(other.status): self._success(binding, method)} if other else {}),
                **({"206": self._success(binding, method)} if _takes(binding, "Range") else {}),
                **({"304": _NOT_MODIFIED} if _takes(binding, "If-None-Match") else {}),
                **({"303": _REDIRECT} if binding.form and binding.form.redirect else {}),
                **self.error_responses.of(method, reasons, _error_media_type(binding, options)),
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
        policy = self._policy
        names = [REQUEST_ID, *policy.headers.of_responses]
        if binding.deprecations is not None:
            self.headers |= DEPRECATION_HEADERS
            names += DEPRECATION_HEADERS
        if policy.idempotency.takes_key(method):
            names.append(policy.idempotency.replayed)
        if binding.next_link is not None:
            names.append("Link")
        if binding.cookie is not None:
            self.headers |= COOKIE_HEADER
            names += COOKIE_HEADER
        for name, in_head in binding.response_headers:
            field = binding.response_class.DESCRIPTOR.fields_by_name[name]
            self.headers.setdefault(in_head, of_field(field, policy))
            names.append(in_head)
        content = {}
        if binding.success_status != 204:
            content = {"content": bodies.success_content(binding, self.schemas)}
        return {
            "description": comment(method.output_type, policy) or "The call succeeded.",
            "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
            **content,
        }

    def _parameters(
        self, binding: Binding, method: MethodDescriptor, path: Path
    ) -> list[dict[str, Any]]:
        policy, names = self._policy, []
        for name, in_head in binding.request_headers:
            field = binding.request_class.DESCRIPTOR.fields_by_name[name]
            names.append(in_head.replace("-", ""))
            self.parameters.setdefault(names[-1], parameters.in_header(field, in_head, policy))
        in_query = field_locations.in_query(binding, policy.annotations)
        return [
            *(parameters.in_path(each, policy) for each in path.parameters),
            *(parameters.in_query(fields, policy) for fields in in_query),
            *parameters.references(names),
            *parameters.shared(idempotency_key=policy.idempotency.takes_key(method)),
        ]


def _error_media_type(binding: Binding, options: MethodOptions) -> str:
    """Returns the media type that errors can have besides JSON; empty if there is none."""
    if binding.form is not None:
        return bodies.HTML
    return options.response_media_type if binding.returns_http_body else ""


def tag_of(service: ServiceDescriptor) -> str:
    """Returns the tag of a service's operations, such as "API keys"."""
    return f"{words(service.name.removesuffix('Service'))}s"


def words(name: str) -> str:
    """Returns a name as separate words: CreateApiKey is "Create API key"."""
    return _API.sub("API", " ".join(_CAMEL.split(name)).capitalize())


def _takes(binding: Binding, header: str) -> bool:
    """Whether a request can have a header of RFC 9110."""
    return any(in_head == header for _, in_head in binding.request_headers)


def _access(options: MethodOptions) -> str:
    if options.is_public:
        return "No API key is required."
    if not options.scope:
        return ""
    return f"{scope_requirement(options.scope)} {options.requirement}".rstrip()


def scope_requirement(scope: str) -> str:
    """Returns the sentence that states the required scope."""
    return f"Requires a key of scope {scope}."


def _security(options: MethodOptions, policy: Policy) -> dict[str, Any]:
    if options.is_public:
        return {"security": []}
    if not options.scope:
        return {}
    # A cookie does not authorize an rpc that pages of other origins can call.
    is_open = options.cross_origin or options.form
    schemes = {name: scheme.get("in") for name, scheme in policy.security.items()}
    names = [name for name, place in schemes.items() if not (is_open and place == "cookie")]
    return {"security": [{name: []} for name in names], "x-scope": options.scope}
