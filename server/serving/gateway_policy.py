"""Builds the policy of the gateway: the options, errors, headers and texts of roster.v1."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import metadata
from importlib.resources import files
from typing import Any

import orjson
from google.api import annotations_pb2
from google.protobuf.descriptor import MethodDescriptor

from roster.v1 import deliveries_pb2, errors_pb2, http_pb2, webhooks_pb2
from rosterd.http_gateway.openapi.headers import header
from rosterd.http_gateway.policy import (
    Annotations,
    ApiInfo,
    CookiePolicy,
    ErrorExamples,
    ErrorPolicy,
    FormOptions,
    HeaderPolicy,
    IdempotencyPolicy,
    MethodOptions,
    OpenApi,
    Policy,
    WebhookExamples,
    Webhooks,
)
from rosterd.http_gateway.request_errors import HttpError

from ..app import SERVICES
from ..config import Settings
from ..features.events.rules import EventType
from ..features.sessions.rules import SESSION_TIME
from ..rpc.errors import DOMAIN, REQUEST_ERROR_METADATA
from ..rpc.field_options import dates_of, field_options, own_options
from ..rpc.health.service import DETAIL_METADATA
from ..values.suggestions import did_you_mean

_REASON = errors_pb2.Error.Reason
_DESCRIPTORS = files("roster.v1") / "descriptors.binpb"
_EXAMPLES = files("rosterd.server.serving") / "examples"
_PACKAGE = metadata("roster")
# The reasons that every call over HTTP can have, then those of calls with an API key and of calls
# with an idempotency key.
_EVERY_CALL = (
    "VALIDATION_ERROR",
    "INTERNAL",
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    # Any request can send a body, even if the body is then rejected.
    "REQUEST_TIMEOUT",
    "UNSUPPORTED_MEDIA_TYPE",
)
_WITH_API_KEY = ("UNAUTHORIZED", "RATE_LIMITED", "TOO_MANY_INVALID_KEYS")
_WITH_IDEMPOTENCY_KEY = (
    "IDEMPOTENCY_KEY_IN_USE",
    "IDEMPOTENCY_KEY_REUSED",
    "IDEMPOTENT_RESPONSE_ERASED",
)
# Of these, those that the form of a page cannot have. It is taken with any content and headers.
_OF_BODIES = ("VALIDATION_ERROR", "REQUEST_TIMEOUT", "UNSUPPORTED_MEDIA_TYPE")
_IDEMPOTENCY_KEY: OpenApi = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": (
        "A unique string, chosen by the client, that identifies this request. When the request"
        " succeeds, its response is stored under the key for 24 hours per account, in the"
        " transaction of the write. The same request with the same key then returns that response,"
        " with `Idempotency-Replayed: true`, and has no second effect. A different request with"
        " the same key fails with 422; a request that arrives while the first one is running fails"
        " with 409. If the data of a person whom the request or the response names was erased"
        " since, the same request fails with 409. A rejected request changes nothing, and its key"
        " can be used again."
    ),
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[ -~]*[!-~][ -~]*$",
    },
    "example": "8e03978e-40d5-43e8-bc93-6894a57f9324",
}


@cache
def _method_options(method: MethodDescriptor) -> MethodOptions:
    options = {name: value for name, value in own_options(method.GetOptions()).items() if value}
    access, form = options.pop("access", http_pb2.Access()), options.pop("form", None)
    for name in ("audit", "fails_with"):
        options.pop(name, None)
    deprecation = dates_of(options.pop("deprecation", None))
    verified = "Requires a verified email address of the account."
    return MethodOptions(
        **options,
        form=FormOptions(form.key, form.redirect) if form is not None else None,
        is_public=access.public,
        scope=access.scope,
        requirement=verified if access.verified_email else "",
        deprecation=deprecation,
    )


def takes_idempotency_key(method: MethodDescriptor) -> bool:
    """Whether an rpc supports idempotency keys.

    It does if it is a POST that is neither idempotent nor a stream, or an update that can create
    the resource (AIP-134). Keys belong to an account, so a public rpc does not.
    """
    options = method.GetOptions()
    is_idempotent = options.idempotency_level != options.IDEMPOTENCY_UNKNOWN
    if is_idempotent or options.Extensions[http_pb2.access].public:
        return False
    creates = options.Extensions[annotations_pb2.http].post or "allow_missing" in (
        method.input_type.fields_by_name
    )
    return bool(creates) and not method.client_streaming


def reasons_of(method: MethodDescriptor) -> list[str]:
    """Returns the names of the reasons for which a call over HTTP can fail.

    An rpc declares its specific reasons in `fails_with`. The others are derived from its options
    and HTTP binding.
    """
    return list(dict.fromkeys(_reasons(method)))


def _reasons(method: MethodDescriptor) -> Iterator[str]:
    options = method.GetOptions().Extensions
    access = options[http_pb2.access]
    is_form = "form" in method.input_type.fields_by_name
    yield from (each for each in _EVERY_CALL if each not in _OF_BODIES or not is_form)
    if not access.public:
        yield from _WITH_API_KEY
        if not (options[http_pb2.cross_origin] or method.GetOptions().HasExtension(http_pb2.form)):
            yield "CROSS_ORIGIN_REQUEST"
    elif any(field_options(field).cookie for field in method.output_type.fields):
        yield from ("UNAUTHORIZED", "FORBIDDEN", "CROSS_ORIGIN_REQUEST")
    if method.server_streaming:
        yield "STREAM_LIMIT_REACHED"
    elif not access.public:
        yield "CPU_SHARE_EXCEEDED"
    if method.client_streaming:
        yield "RESPONSE_NOT_READ"
    # No scope is included in all others, so every scope can be missing.
    if access.scope:
        yield "FORBIDDEN"
    if access.verified_email:
        yield "EMAIL_NOT_VERIFIED"
    yield from (_REASON.Name(number) for number in options[http_pb2.fails_with])
    if "etag" in method.input_type.fields_by_name:
        yield "PRECONDITION_FAILED"
    # A stream is unbounded; a record that is too long is a VALIDATION_ERROR.
    if not (method.client_streaming or is_form):
        yield "PAYLOAD_TOO_LARGE"
    if takes_idempotency_key(method):
        yield from _WITH_IDEMPOTENCY_KEY


def _as_metadata(error: HttpError) -> tuple[str, bytes]:
    details = [
        errors_pb2.Error.Detail(
            field=detail.field,
            code=errors_pb2.Error.Detail.Code.Value(detail.code),
            message=detail.message,
        )
        for detail in error.details
    ]
    reason = _REASON.Value(error.reason)
    fault = errors_pb2.Error(reason=reason, message=error.message, details=details)
    return REQUEST_ERROR_METADATA, fault.SerializeToString()


@cache
def error_examples() -> ErrorExamples:
    """Returns the errors in `errors.json`, which are recorded from a running service."""
    return ErrorExamples(**orjson.loads((_EXAMPLES / "errors.json").read_bytes()))


@cache
def response_examples() -> dict[str, dict[str, Any]]:
    """Returns the responses in `responses.json`, which are recorded from a running service."""
    examples: dict[str, dict[str, Any]] = orjson.loads((_EXAMPLES / "responses.json").read_bytes())
    return examples


@cache
def webhook_examples() -> WebhookExamples:
    """Returns the events in `events.json`, which is generated from the delivery code."""
    return WebhookExamples(**orjson.loads((_EXAMPLES / "events.json").read_bytes()))


ANNOTATIONS = Annotations(
    of_field=field_options,
    of_method=_method_options,
    ignored_keys=lambda message: message.GetOptions().Extensions[http_pb2.ignored_keys],
    media_type=lambda value: value.GetOptions().Extensions[http_pb2.media_type],
    forbids_controls=lambda file: file.GetOptions().Extensions[http_pb2.no_control_characters],
    csv_line=http_pb2.CsvLine.DESCRIPTOR.full_name,
    text_patterns={
        # An empty text counts as absent.
        "ulid": "^([0-7][0-9A-HJKMNP-TV-Z]{25})?$",
    },
    did_you_mean=did_you_mean,
)
_ERRORS = ErrorPolicy(
    domain=DOMAIN,
    statuses={
        value.name: value.GetOptions().Extensions[errors_pb2.error_mapping].http
        for value in _REASON.DESCRIPTOR.values
        if value.number
    },
    of_earlier_server=("METHOD_NOT_IMPLEMENTED", "FIELD_NOT_IMPLEMENTED"),
    reasons=_REASON.DESCRIPTOR,
    body=errors_pb2.ErrorResponse.DESCRIPTOR,
    reasons_of=reasons_of,
    examples=error_examples,
    as_metadata=_as_metadata,
)
_HEADERS = HeaderPolicy.of(
    ("authorization", "x-api-key", "idempotency-key"),
    (
        *("RateLimit", "RateLimit-Policy", "Retry-After", "Idempotency-Replayed", "Cache-Control"),
        *("Accept-Ranges", "Content-Disposition", "Content-Range", "ETag", "Repr-Digest"),
        *("Content-Language", "Content-Security-Policy", "Referrer-Policy", "Vary", "X-Robots-Tag"),
    ),
    of_responses=("RateLimit", "RateLimit-Policy"),
    described={
        "RateLimit": header(
            "If a rate limit is configured: the remaining number of calls, and the seconds until"
            " another one is available.",
            '"default";r=40;t=1',
        ),
        "RateLimit-Policy": header(
            "If a rate limit is configured: the number of calls an account can make, and the period"
            " in seconds.",
            '"default";q=100;w=1',
        ),
        "Idempotency-Replayed": header(
            "`true` if this is the stored response to an earlier request with this idempotency"
            " key.",
            "true",
        ),
        "Link": header(
            'URL of the next page as `<URL>; rel="next"` (RFC 8288). Absent on the last page.',
            '</api/subscribers?limit=20&pageToken=AAEC>; rel="next"',
        ),
    },
)
_MESSAGES = {
    message.name: message
    for service in SERVICES
    for message in service.file.message_types_by_name.values()
}
_WEBHOOKS = Webhooks(
    service=webhooks_pb2.DESCRIPTOR.services_by_name["WebhookService"],
    event=deliveries_pb2.Event.DESCRIPTOR,
    resources={event_type.data_key: _MESSAGES[event_type.message] for event_type in EventType},
    descriptions={event_type: event_type.description for event_type in EventType},
    headers={
        "webhook-id": "Identifier of the event, the same in every delivery.",
        "webhook-timestamp": "Unix time at which this attempt was sent, in seconds.",
        "webhook-signature": (
            "`v1,` and the base64-encoded HMAC-SHA256 of the id, the timestamp and the body, joined"
            " by dots. After a rotation of the secret there are two signatures, separated by a"
            " space."
        ),
    },
    responses={
        "2XX": "The event was accepted, if the response arrives in time.",
        "410": "The endpoint no longer exists: the webhook is disabled.",
        "default": "The event was not accepted: the delivery is retried.",
    },
    examples=webhook_examples,
)
_ORDER_OF_ERRORS = (
    "If a request has several faults, an invalid API key is reported first (401), then 413 and 415,"
    " 403, and last 400, 404, 412 and 409."
)
POLICY = Policy(
    about=ApiInfo(
        _PACKAGE["Name"].capitalize(), _PACKAGE["Version"], _PACKAGE["Summary"], _ORDER_OF_ERRORS
    ),
    annotations=ANNOTATIONS,
    errors=_ERRORS,
    headers=_HEADERS,
    idempotency=IdempotencyPolicy(takes_idempotency_key, _IDEMPOTENCY_KEY, "Idempotency-Replayed"),
    cookie=CookiePolicy("roster", SESSION_TIME // 1000, replaced_by=("authorization", "x-api-key")),
    webhooks=_WEBHOOKS,
    security={
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "description": "Send the API key as `Authorization: Bearer <key>`.",
        },
        "apiKey": {
            "type": "apiKey",
            "in": "header",
            "name": "X-API-Key",
            "description": "The header `X-API-Key` takes the key too.",
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": "__Host-roster",
            "description": (
                "The cookie of a session, which `POST /api/session` sets. A request with it must"
                " come from a page of the same origin. It has another name without TLS."
            ),
        },
    },
    descriptors=_DESCRIPTORS.read_bytes,
    responses=response_examples,
    not_found_hint=(
        "The paths of the API begin with `/api`. If you followed a link in a mail, it is"
        " incomplete: copy the whole link."
    ),
    origins=f"`{Settings.cors_origins.environment}`",
    health_detail=DETAIL_METADATA,
)
