"""Declares what a gateway needs to know about a service.

A gateway reads google.api.http and buf.validate from the protos. Everything else of a service comes
in through a `Policy`: its own protobuf options, its error reasons, its headers, and what its
documents say. The defaults are those of a service that has none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

from google.protobuf.descriptor import (
    Descriptor,
    EnumDescriptor,
    EnumValueDescriptor,
    FieldDescriptor,
    FileDescriptor,
    MethodDescriptor,
    ServiceDescriptor,
)

from .request_errors import HttpError

# An object of an OpenAPI document.
OpenApi = Mapping[str, Any]


class Deprecation(NamedTuple):
    """Since when something is deprecated, and when it may be gone; a date in UTC, or None."""

    since: date
    sunset: date | None = None


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """Options of a field."""

    # For a bool in a body: 1, 0, "yes" and "no" are accepted as well.
    boolean_like: bool = False
    # For a Timestamp in a body: a date is accepted as well.
    date_like: bool = False
    # For an enum: its names are case-insensitive. For text: the service accepts its values in any
    # letter case.
    any_case: bool = False
    # For a double: it is an integer.
    whole: bool = False
    # For text: it is trimmed, cannot be cleared, has several lines, or a format of JSON Schema.
    trimmed: bool = False
    never_empty: bool = False
    multiline: bool = False
    text_format: str = ""
    # For a field of an update: null is a value.
    null_clears: bool = False
    # For a field of a request: it is in the query even if the body is the whole request.
    in_query: bool = False
    # For the list of errors of a row, which fails alone: messages with `field` and `text`.
    row_faults: bool = False
    # For text that names the encoding of a streamed body.
    body_charset: bool = False
    # For an enum of a request of a stream: greater values return fewer records.
    limits_records: bool = False
    # For a field mask: the response field in which it selects fields.
    selects: str = ""
    # For repeated text of a request of a stream: the fields of the records that JSON contains.
    selects_fields: bool = False
    # For text of a request or response: the header that carries it instead of the body.
    header: str = ""
    # For a deprecated field of a request: the dates.
    field_deprecation: Deprecation | None = None
    # For a field of a response: the token of the Link to the next page, the status of the
    # response if it is true, or the page that is shown after a form. JSON does not contain them.
    next_link: bool = False
    status_if_true: int = 0
    form_page: bool = False
    # For text of a response: the token of a session, which is sent as a cookie.
    cookie: bool = False
    # For a repeated field of a response: JSON does not contain it if it is empty.
    omit_empty: bool = False
    # The example in documents: text, or JSON for other types.
    example: str | None = None

    @property
    def is_outside_json(self) -> bool:
        """Whether the field is sent in a header, as the status or as a page."""
        is_in_header = self.header or self.next_link or self.cookie
        return bool(is_in_header or self.status_if_true or self.form_page)


class FormOptions(NamedTuple):
    """The names of the form fields with the API key and the URL of the redirect; may be empty."""

    key: str
    redirect: str


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """Options of an rpc."""

    success_status: int = 200
    # Whether an empty body is read as {}.
    optional_body: bool = False
    # Whether web pages of other origins can call it.
    cross_origin: bool = False
    # The media type of a google.api.HttpBody that it returns.
    response_media_type: str = "*/*"
    # How HTML forms can call it; None if they cannot.
    form: FormOptions | None = None
    # Whether it needs no credentials, and the scope that they must have.
    is_public: bool = False
    scope: str = ""
    # A sentence about other requirements.
    requirement: str = ""
    # The dates of a deprecated rpc.
    deprecation: Deprecation | None = None


_NO_FIELD_OPTIONS = FieldOptions()
_NO_METHOD_OPTIONS = MethodOptions()


@dataclass(frozen=True, eq=False)
class Annotations:
    """Reads the options of a service. They are read when routes and documents are built."""

    of_field: Callable[[FieldDescriptor], FieldOptions] = lambda _: _NO_FIELD_OPTIONS
    of_method: Callable[[MethodDescriptor], MethodOptions] = lambda _: _NO_METHOD_OPTIONS
    # The keys of a message that are accepted and ignored.
    ignored_keys: Callable[[Descriptor], Collection[str]] = lambda _: ()
    # The media type that a value of an enum selects; empty if it selects none.
    media_type: Callable[[EnumValueDescriptor], str] = lambda _: ""
    # Whether the service rejects control characters in texts of a file's messages.
    forbids_controls: Callable[[FileDescriptor], bool] = lambda _: False
    # The full name of the message for a line of CSV, with `number`, `cells` and `malformed`.
    csv_line: str = ""
    # The patterns of text formats that JSON Schema does not define.
    text_patterns: Mapping[str, str] = field(default_factory=dict)
    # The end of the message about an unknown name, given the known ones: "; did you mean page?".
    # It is called for a few names of a request, before its caller is authenticated.
    did_you_mean: Callable[[str, Collection[str]], str] = lambda *_: ""

    def row_errors_field(self, message: Descriptor) -> str | None:
        """Returns the name of the field that lists the errors of such a row, or None."""
        return next((f.name for f in message.fields if self.of_field(f).row_faults), None)

    def is_always_written(self, field: FieldDescriptor) -> bool:
        """Whether the JSON of a response contains the field even if it has its default value."""
        return not (field.has_presence or self.of_field(field).omit_empty)


class ErrorExamples(NamedTuple):
    """The message and details of errors. `by_rpc` has those that differ for an rpc."""

    by_reason: Mapping[str, dict[str, Any]] = {}
    by_rpc: Mapping[str, Mapping[str, dict[str, Any]]] = {}


@dataclass(frozen=True, eq=False)
class ErrorPolicy:
    """The errors of a service."""

    # The domain of its reasons in google.rpc.ErrorInfo. If it is None, the gateway passes on all
    # reasons, details and messages. Otherwise those of other domains are not passed on, because
    # they come from gRPC itself or a proxy, and can contain addresses or limits.
    domain: str | None = None
    # Its reasons and their HTTP statuses. Others have the status of their gRPC code.
    statuses: Mapping[str, int] = field(default_factory=dict)
    # Those with which a server of an earlier version rejects rpcs and fields that it does not have.
    of_earlier_server: Collection[str] = ()
    # The enum of its reasons, and the message that describes the body of an error.
    reasons: EnumDescriptor | None = None
    body: Descriptor | None = None
    # The reasons for which an rpc can fail.
    reasons_of: Callable[[MethodDescriptor], Iterable[str]] = lambda _: ()
    examples: Callable[[], ErrorExamples] = ErrorExamples
    # Returns the metadata with an error in a request, for the service. The call then has
    # an empty message, and the service fails it with this error or one that precedes it.
    as_metadata: Callable[[HttpError], tuple[str, bytes]] | None = None


def _returned(*names: str) -> dict[str, str]:
    return {name.lower(): name for name in names}


@dataclass(frozen=True)
class HeaderPolicy:
    """The headers of a service."""

    # The request headers that are sent to it as metadata, in lower case.
    forwarded: tuple[str, ...] = ("authorization",)
    # The response headers by the metadata that they are read from.
    returned: Mapping[str, str] = field(
        default_factory=lambda: _returned(
            "Retry-After", "Cache-Control", "Content-Language", "Vary"
        )
    )
    # The response headers of every rpc, and descriptions of headers in OpenAPI.
    of_responses: tuple[str, ...] = ()
    described: Mapping[str, OpenApi] = field(default_factory=dict)

    @classmethod
    def of(cls, forwarded: tuple[str, ...], returned: Iterable[str], **more: Any) -> HeaderPolicy:
        """Returns a policy with response headers whose metadata have the same names."""
        return cls(forwarded, _returned(*returned), **more)


class CookiePolicy(NamedTuple):
    """The session cookie of a service; its name gets a prefix or the port.

    Its value is sent as `metadata`, unless a header in `replaced_by` has credentials. `max_age` is
    in seconds.
    """

    name: str
    max_age: int
    metadata: str = "session"
    replaced_by: Collection[str] = ("authorization",)


@dataclass(frozen=True, eq=False)
class IdempotencyPolicy:
    """Which rpcs take an Idempotency-Key, and how OpenAPI describes it.

    `replayed` is the response header of a stored response.
    """

    takes_key: Callable[[MethodDescriptor], bool] = lambda _: False
    parameter: OpenApi | None = None
    replayed: str = ""


class WebhookExamples(NamedTuple):
    """An example event of each type.

    `headers` are the signed headers of the request with one of the events.
    """

    events: dict[str, dict[str, Any]]
    headers: dict[str, str]
    secret: str

    @property
    def signed(self) -> dict[str, Any]:
        """The event that `headers` belong to."""
        event_id = self.headers["webhook-id"]
        return next(event for event in self.events.values() if event["id"] == event_id)


@dataclass(frozen=True, eq=False)
class Webhooks:
    """The events that a service sends to webhooks.

    `resources` are by their key in the data of an event. `descriptions` describe when an event
    occurs, by its type. Those of `headers` and `responses` are by name and by status.
    """

    service: ServiceDescriptor
    event: Descriptor
    resources: Mapping[str, Descriptor]
    descriptions: Mapping[str, str]
    headers: Mapping[str, str]
    responses: Mapping[str, str]
    examples: Callable[[], WebhookExamples]


@dataclass(frozen=True)
class ApiInfo:
    """The title, version and summary of an API. The description is added to the general one."""

    title: str = "API"
    version: str = "1"
    summary: str = ""
    description: str = ""


@dataclass(frozen=True, eq=False)
class Policy:
    """All of this."""

    about: ApiInfo = ApiInfo()
    annotations: Annotations = Annotations()
    errors: ErrorPolicy = ErrorPolicy()
    headers: HeaderPolicy = HeaderPolicy()
    idempotency: IdempotencyPolicy = IdempotencyPolicy()
    # None if there are no sessions.
    cookie: CookiePolicy | None = None
    webhooks: Webhooks | None = None
    # The security schemes of OpenAPI, any of which authorizes a call of an rpc with a scope.
    security: Mapping[str, OpenApi] = field(default_factory=dict)
    # Returns a FileDescriptorSet with the comments of the protos, which descriptors that are
    # loaded at run time do not have.
    descriptors: Callable[[], bytes] = bytes
    # Returns examples of the bodies of successful responses in documents: by the full name of the
    # rpc, then by media type. Those of streams are text.
    responses: Callable[[], Mapping[str, Mapping[str, Any]]] = dict
    # Markdown on the page of a path that does not exist: which paths do, and how people get there.
    not_found_hint: str = ""
    # How documents name the allowed origins.
    origins: str = "the allowed origins"
    # The trailing metadata of the health check with a problem of a service that accepts calls.
    health_detail: str = ""

    def webhooks_of(self, services: Collection[ServiceDescriptor]) -> Webhooks | None:
        """Returns the webhooks that one of the services sends; None if none does."""
        webhooks = self.webhooks
        return webhooks if webhooks is not None and webhooks.service in services else None


NO_ANNOTATIONS = Annotations()
DEFAULT = Policy()
