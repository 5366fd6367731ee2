"""Tests that the protobuf files and the code declare the same bounds, values and errors."""

from __future__ import annotations

import inspect
import re
from enum import IntEnum
from typing import Any

import grpc
import pytest
from google.api import annotations_pb2
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import (
    Descriptor,
    EnumDescriptor,
    FieldDescriptor,
    MethodDescriptor,
)
from google.rpc import code_pb2

import rosterd.http_gateway.request_errors
from roster.buf.validate import validate_pb2
from roster.v1 import (
    custom_fields_pb2,
    deliveries_pb2,
    errors_pb2,
    http_pb2,
    imports_pb2,
    operations_pb2,
    rows_pb2,
    subscribers_pb2,
    webhooks_pb2,
)
from rosterd.http_gateway.openapi.bounds import of_field
from rosterd.server.features.accounts import rules as accounts
from rosterd.server.features.custom_fields import rules as custom_fields
from rosterd.server.features.imports.jobs import rules as imports
from rosterd.server.features.operations import rules as operations
from rosterd.server.features.subscribers import linked
from rosterd.server.features.subscribers import rules as subscribers
from rosterd.server.features.subscribers.fields import ADDED_BY_FULL, FIELDS, PROFILE, Kind, Status
from rosterd.server.features.tags import rules as tags
from rosterd.server.features.webhooks import rules as webhooks
from rosterd.server.features.webhooks.egress import urls
from rosterd.server.rpc import errors
from rosterd.server.serving.gateway_policy import ANNOTATIONS
from rosterd.server.values.ids import is_id

from ..cases import each
from ..fronts import METHODS, UNARY


def field_of(path: str) -> FieldDescriptor:
    """Returns the field with a name such as CreateTagRequest.name."""
    field: FieldDescriptor = descriptor_pool.Default().FindFieldByName(f"roster.v1.{path}")
    return field


def bounds(path: str) -> Any:
    """Returns the rules of buf.validate on a field."""
    return field_of(path).GetOptions().Extensions[validate_pb2.field]


@pytest.mark.parametrize(
    ("path", "bound"),
    [
        *[
            (f"{request_}.{name}", field.max_length)
            for request_ in ("CreateSubscriberRequest", "UpdateSubscriberRequest")
            for name, field in PROFILE.items()
            if field.kind is Kind.TEXT
        ],
        ("CreateTagRequest.name", tags.MAX_NAME_LENGTH),
        ("UpdateTagRequest.name", tags.MAX_NAME_LENGTH),
        ("CreateApiKeyRequest.name", accounts.MAX_NAME_LENGTH),
        ("UpdateAccountRequest.display_name", accounts.MAX_NAME_LENGTH),
        ("CreateWebhookRequest.url", urls.MAX_LENGTH),
        ("UpdateWebhookRequest.url", urls.MAX_LENGTH),
    ],
)
def test_text_bounds_agree_with_the_rules(path: str, bound: int) -> None:
    assert bounds(path).string.max_len == bound


def test_declared_fields_of_a_subscriber_are_those_of_the_message() -> None:
    message = subscribers_pb2.Subscriber.DESCRIPTOR
    names = {field.name: field.json_name for field in message.fields}

    assert names.pop("custom_fields")
    # Only in exports and events.
    assert [names.pop("confirm_url"), names.pop("unsubscribe_url")] == [*linked.COLUMNS]
    consent = message.fields_by_name[names.pop("consent")].message_type
    names |= {f"consent_{field.name}": f"consent{field.name.title()}" for field in consent.fields}
    assert names.pop("updated_at") == "updatedAt"
    declared = {field.name: field.json_name for field in (*FIELDS, *ADDED_BY_FULL)}
    assert declared.pop("revision") == "updatedAt"
    assert declared == names


@pytest.mark.parametrize(
    "request_",
    ["CreateSubscriberRequest", "UpdateSubscriberRequest", "BulkSubscriber", "ImportSubscriber"],
)
def test_every_request_that_sets_a_profile_has_all_of_its_fields(request_: str) -> None:
    message = descriptor_pool.Default().FindMessageTypeByName(f"roster.v1.{request_}")

    assert set(PROFILE) <= set(message.fields_by_name)


@pytest.mark.parametrize(
    ("request_", "least"),
    [
        ("CreateSubscriberRequest", 0),
        ("UpdateSubscriberRequest", 0),
        ("AddSubscriberTagsRequest", 1),
        ("RemoveSubscriberTagsRequest", 1),
    ],
)
def test_bounds_of_tags_on_a_subscriber_agree_with_the_rules(request_: str, least: int) -> None:
    repeated = bounds(f"{request_}.tags").repeated

    assert (repeated.min_items, repeated.max_items) == (least, subscribers.MAX_TAGS)
    assert repeated.items.string.min_len == 1
    assert repeated.items.string.max_len == tags.MAX_NAME_LENGTH


@each(
    "text",
    [
        "",
        "01M7Y2MPAQ036JVMBN3RCKGA5K",
        "01m7y2mpaq036jvmbn3rckga5k",
        "81M7Y2MPAQ036JVMBN3RCKGA5K",
        "x",
    ],
)
def test_pattern_of_an_identifier_agrees_with_the_rules(text: str) -> None:
    pattern = of_field(field_of("ExportSubscribersRequest.after_id"), ANNOTATIONS)["pattern"]

    # An empty text counts as absent.
    assert bool(re.search(pattern, text)) == (not text or is_id(text))


@pytest.mark.parametrize(
    ("enum", "descriptor"),
    [
        (Status, subscribers_pb2.Subscriber.Status.DESCRIPTOR),
        (subscribers.Failure, rows_pb2.Row.Reason.DESCRIPTOR),
        (custom_fields.DataType, custom_fields_pb2.CustomField.DataType.DESCRIPTOR),
        (webhooks.DeliveryState, deliveries_pb2.WebhookDelivery.State.DESCRIPTOR),
        (operations.State, operations_pb2.Operation.State.DESCRIPTOR),
        (operations.Type, operations_pb2.Operation.Type.DESCRIPTOR),
        (imports.State, imports_pb2.ImportJob.State.DESCRIPTOR),
        (webhooks.DisabledReason, webhooks_pb2.Webhook.DisabledReason.DESCRIPTOR),
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else "",
)
def test_enum_numbers_agree_with_the_rules(enum: type[IntEnum], descriptor: EnumDescriptor) -> None:
    numbers = {value.name: value.number for value in descriptor.values if value.number}

    assert {member.name: member.value for member in enum if member.value} == numbers


@each("method", UNARY.values())
def test_every_rpc_declares_its_http_binding(method: MethodDescriptor) -> None:
    rule = method.GetOptions().Extensions[annotations_pb2.http]
    verb = rule.WhichOneof("pattern")
    success = method.GetOptions().Extensions[http_pb2.success_status] or 200

    path = getattr(rule, verb)
    others = [
        field.name
        for field in method.input_type.fields
        if f"{{{field.name}}}" not in path and not field.GetOptions().Extensions[http_pb2.header]
    ]
    assert path.startswith("/api/")
    assert bool(rule.body) == (verb in ("post", "put", "patch") and bool(others))
    assert success in {"get": (200,), "delete": (204,)}.get(verb, (200, 201, 202))
    additional = [(b.WhichOneof("pattern"), b.patch) for b in rule.additional_bindings]
    is_update = verb == "put" and method.name.startswith("Update")
    assert additional == ([("patch", path)] if is_update else [])


def header_of(message: Descriptor) -> str:
    """Returns the header of the field `etag`; empty if there is none."""
    field = message.fields_by_name.get("etag")
    header: str = field.GetOptions().Extensions[http_pb2.header] if field is not None else ""
    return header


# Records and pages, which have no editors, and all that is stored about a person. Sessions and
# sign-in links never change before they are deleted.
WITHOUT_ETAG = {
    *("Event", "HttpBody", "Link", "WebhookDelivery", "WebhookHealth", "Session", "SignInLink"),
}
WITHOUT_ETAG_IN = {"GetSubscriberPersonalData"}


@each("method", UNARY.values())
def test_every_single_resource_has_an_etag_that_its_changes_take(method: MethodDescriptor) -> None:
    rule = method.GetOptions().Extensions[annotations_pb2.http]
    verb = rule.WhichOneof("pattern")
    first = next(iter(method.output_type.fields), None)
    is_resource = (
        first is not None
        and first.message_type is not None
        and not first.is_repeated
        and first.message_type.name not in WITHOUT_ETAG
        and method.name not in WITHOUT_ETAG_IN
    )
    refers = "{" in getattr(rule, verb) or "Account" in method.name
    # A replay and an undo return another resource, their operation.
    returns_other = method.name in ("ReplayWebhook", "UndoOperation", "UndoImport")
    is_action = verb == "post" and refers and is_resource and not returns_other
    is_session = method.containing_service.file.name == "roster/v1/sessions.proto"
    is_change = (verb in ("put", "patch", "delete") and not is_session) or is_action

    assert header_of(method.output_type) == ("ETag" if is_resource else "")
    assert header_of(method.input_type) == ("If-Match" if is_change else "")


def test_few_rpcs_that_are_no_get_are_declared_as_safe_to_repeat() -> None:
    """Each of them is retried without an idempotency key."""
    declared = {
        name: options.DESCRIPTOR.enum_types_by_name["IdempotencyLevel"]
        .values_by_number[options.idempotency_level]
        .name
        for name, method in METHODS.items()
        if (options := method.GetOptions()).idempotency_level
        and options.Extensions[annotations_pb2.http].WhichOneof("pattern") != "get"
    }

    safe, idempotent = "NO_SIDE_EFFECTS", "IDEMPOTENT"
    assert declared == {
        **dict.fromkeys(("BatchGetSubscribers", "CreateSubscriberLinks", "RenderMergeTags"), safe),
        **dict.fromkeys(("SubmitConfirmPage", "SubmitUnsubscribePage"), idempotent),
        "UpdateAccount": idempotent,
    }


@each("method", METHODS.values())
def test_every_rpc_declares_its_scope(method: MethodDescriptor) -> None:
    options = method.GetOptions()
    access = options.Extensions[http_pb2.access]
    has_no_effect = options.idempotency_level == options.NO_SIDE_EFFECTS
    reads = options.Extensions[annotations_pb2.http].WhichOneof("pattern") == "get" or has_no_effect
    service = method.containing_service.name

    needs_admin = ("DeleteSuppression", "UpdateAccount")
    admin_services = ("ApiKeyService", "AuditService", "SessionService", "SignInLinkService")
    is_risky = service in admin_services or method.name in needs_admin
    scope = "admin" if is_risky else "read" if reads else "write"
    # Links change the status of a subscriber.
    scopes = {"CreateSubscriberLinks": "write", "SignUp": "signup"}
    own_session = dict.fromkeys(("GetCurrentSession", "SignOut"), "read")
    # Exports return what a key of this scope can read, and change no subscriber.
    exports = dict.fromkeys(("CreateExport", "CancelExport", "DeleteExport"), "read")
    scope = {**scopes, **own_session, **exports}.get(method.name, scope)
    assert access.public == (service == "LinkPageService" or method.name == "SignIn")
    assert access.scope == ("" if access.public else scope)
    assert access.verified_email == (service == "CustomFieldService" and not reads)


REASONS = [value for value in errors_pb2.Error.Reason.DESCRIPTOR.values if value.number]
# The HTTP statuses of each gRPC status code.
STATUSES = {
    "INVALID_ARGUMENT": {400, 415},
    "UNAUTHENTICATED": {401},
    "PERMISSION_DENIED": {403},
    "NOT_FOUND": {404},
    "UNIMPLEMENTED": {404, 405, 501, 503},
    "ALREADY_EXISTS": {409},
    "FAILED_PRECONDITION": {409, 422},
    "ABORTED": {409, 412},
    "OUT_OF_RANGE": {416},
    "RESOURCE_EXHAUSTED": {413, 429, 507},
    "DEADLINE_EXCEEDED": {408, 504},
    "INTERNAL": {500},
    "UNAVAILABLE": {503},
}


@each("reason", REASONS)
def test_every_reason_has_a_grpc_and_an_http_status(reason: Any) -> None:
    assert reason.GetOptions().HasExtension(errors_pb2.error_mapping)
    mapping = reason.GetOptions().Extensions[errors_pb2.error_mapping]

    code = code_pb2.Code.Name(mapping.grpc)
    assert grpc.StatusCode[code]
    assert mapping.http in STATUSES[code]


ERRORS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.RosterError) and hasattr(kind, "reason")
]


@each("kind", ERRORS)
def test_every_error_has_a_declared_reason(kind: type[errors.RosterError]) -> None:
    assert kind.reason in {reason.name for reason in REASONS}
    for detail in kind.details:
        assert detail.code in errors_pb2.Error.Detail.Code.DESCRIPTOR.values_by_name


def test_gateway_and_server_limit_details_equally() -> None:
    assert rosterd.http_gateway.request_errors.MAX_VIOLATIONS == errors.MAX_DETAILS
