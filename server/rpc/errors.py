"""The errors that the API returns.

An error has a stable reason (a value of `Error.Reason` in errors.proto), a message for
people and, for an invalid request, one detail per invalid field. errors.proto alone
defines the gRPC and HTTP status of each reason.

A class declares its message with variables in braces. Their values are the arguments of
`RosterError` and the metadata of google.rpc.ErrorInfo (AIP-193).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# The domain of the reasons in google.rpc.ErrorInfo: the name of the service, as AIP-193 has it.
# Programs compare it, so it is the same in every deployment and every version of the protos.
DOMAIN = "roster"
# gRPC metadata in which a gateway passes on the error that it found in a request.
REQUEST_ERROR_METADATA = "roster-fault-bin"
# Details are sent in metadata, whose size is limited.
MAX_DETAILS = 20
# gRPC metadata and HTTP headers have the same name, which is case-insensitive in HTTP.
_AUTHORIZATION = "'Authorization: Bearer rk_...', an HTTP header or gRPC metadata"


@dataclass(frozen=True, slots=True)
class Detail:
    """One invalid field of a request.

    `field` is a JSON path such as `subscribers[3].email` and `code` a value of
    `Error.Detail.Code`. `message` follows the path in a sentence: "is required".
    """

    field: str
    code: str
    message: str


class RosterError(Exception):
    """The base class of all errors that a client may receive."""

    reason: str
    message: str
    details: Sequence[Detail] = ()
    # Seconds after which the client may retry, if known.
    retry_after: float | None = None
    # An HTML page with the message for a person; empty if there is none.
    page: bytes = b""

    def __init__(self, **variables: str | int) -> None:
        self.metadata: Mapping[str, str] = {name: str(each) for name, each in variables.items()}
        if variables:
            self.message = self.message.format(**variables)
        super().__init__(self.message)


class ValidationError(RosterError):
    """The request is invalid; `details` lists the invalid fields."""

    reason = "VALIDATION_ERROR"

    def __init__(
        self, details: Sequence[Detail], message: str = "The request is not valid."
    ) -> None:
        self.message = message
        self.details = details
        super().__init__()


def invalid(field: str, code: str, message: str) -> ValidationError:
    """Returns a ValidationError with one detail."""
    return ValidationError([Detail(field, code, message)])


class Unauthorized(RosterError):
    """The key cannot be used. The message is the same for every cause that needs a lookup.

    Otherwise it would reveal whether a key existed. The subclasses are recognized without a lookup.
    """

    reason = "UNAUTHORIZED"
    message = "This API key does not exist, was revoked or has expired."


class ApiKeyRequired(Unauthorized):
    message = f"Send an API key as {_AUTHORIZATION}."


class SchemeNotSupported(Unauthorized):
    message = f"The authorization scheme must be Bearer. Send an API key as {_AUTHORIZATION}."


class MalformedApiKey(Unauthorized):
    """A text without the form or the checksum of a key. Both are public."""

    message = (
        "This is not a complete API key. A key is rk_ and 46 letters and digits; copy it again."
    )


class DifferentApiKeys(Unauthorized):
    message = "The call has two different API keys. Send one."


class SessionEnded(Unauthorized):
    message = "This session does not exist or has ended. Sign in again."


class DifferentSessions(Unauthorized):
    message = "The call has two different sessions. Delete the cookies of this site."


class InvalidSignInLink(Unauthorized):
    message = (
        "This sign-in link does not exist, was used or has expired. Create another one with"
        " `roster console link`."
    )


class InvalidSignInToken(Unauthorized):
    message = (
        "This is neither the token of a sign-in link nor a complete API key. Copy the whole link or"
        " key again."
    )


class Forbidden(RosterError):
    """The scope of the key does not include the needed one."""

    reason = "FORBIDDEN"
    message = "This operation needs the scope {neededScope}; the caller has {scope}."


class ApiKeyScopeTooBroad(RosterError):
    """A form, which is public, contains a key with more permissions than the operation requires."""

    reason = "API_KEY_SCOPE_TOO_BROAD"
    message = "A form can only contain an API key of the scope {neededScope}. Revoke this key."


class EmailNotVerified(RosterError):
    reason = "EMAIL_NOT_VERIFIED"
    message = (
        "The email address of this account is not verified. The operator of the server verifies it"
        " with `roster accounts verify ID`."
    )


class SubscriberNotFound(RosterError):
    reason = "SUBSCRIBER_NOT_FOUND"
    message = "Subscriber not found."


class SubscriberAlreadyExists(RosterError):
    reason = "SUBSCRIBER_ALREADY_EXISTS"
    message = "A subscriber with this email address already exists."
    details = (Detail("email", "TAKEN", "is already in use"),)


class SubscriberSuppressed(RosterError):
    reason = "SUBSCRIBER_SUPPRESSED"
    message = (
        "The owner of this email address has opted out. "
        "If the person subscribes again, delete the suppression with an admin key first."
    )
    details = (Detail("email", "INVALID_VALUE", "is suppressed"),)


class InvalidStatusTransition(RosterError):
    reason = "INVALID_STATUS_TRANSITION"
    message = "The subscriber's status cannot change from {from} to {to}."

    def __init__(self, before: str, after: str, *, exception: str = "") -> None:
        message = f"cannot change from {before} to {after}{exception}"
        self.details = (Detail("status", "INVALID_VALUE", message),)
        super().__init__(**{"from": before, "to": after})


class SuppressionNotFound(RosterError):
    reason = "SUPPRESSION_NOT_FOUND"
    message = "No suppression found for this email address."


class TagNotFound(RosterError):
    reason = "TAG_NOT_FOUND"
    message = "Tag not found."


class TagAlreadyExists(RosterError):
    reason = "TAG_ALREADY_EXISTS"
    message = "A tag with this name already exists."
    details = (Detail("name", "TAKEN", "is already in use"),)


class CustomFieldNotFound(RosterError):
    reason = "CUSTOM_FIELD_NOT_FOUND"
    message = "Custom field not found."


class CustomFieldAlreadyExists(RosterError):
    reason = "CUSTOM_FIELD_ALREADY_EXISTS"
    message = "A custom field with this label, or with the key derived from it, already exists."
    details = (Detail("label", "TAKEN", "is already in use"),)


class CustomFieldBeingDeleted(CustomFieldAlreadyExists):
    reason = "CUSTOM_FIELD_BEING_DELETED"
    message = "A custom field with this key is being deleted. Try again later."
    details = (Detail("label", "TAKEN", "is in use until the values of a deleted field are gone"),)


class LimitReached(RosterError):
    """The maximum number of resources exists; `limit` in the message."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit=limit)


class CustomFieldLimitReached(LimitReached):
    reason = "CUSTOM_FIELD_LIMIT_REACHED"
    message = "The account has the maximum of {limit} custom fields. Delete one first."


class ValuesNotConvertible(RosterError):
    """Values of the custom field, given by their number and some examples, do not convert."""

    reason = "VALUES_NOT_CONVERTIBLE"
    message = (
        "This custom field has {count} values that do not convert to {dataType} exactly. Change or"
        " remove them first."
    )

    def __init__(self, data_type: str, count: int, examples: Sequence[str]) -> None:
        self.details = [
            # In JSON, blanks and quotes are visible.
            Detail(
                "dataType",
                "INVALID_VALUE",
                f"does not convert {json.dumps(each, ensure_ascii=False)}",
            )
            for each in examples
        ]
        super().__init__(count=count, dataType=data_type)


class SegmentNotFound(RosterError):
    reason = "SEGMENT_NOT_FOUND"
    message = "Segment not found."


class SegmentAlreadyExists(RosterError):
    reason = "SEGMENT_ALREADY_EXISTS"
    message = "A segment with this name already exists."
    details = (Detail("name", "TAKEN", "is already in use"),)


class SegmentLimitReached(LimitReached):
    reason = "SEGMENT_LIMIT_REACHED"
    message = "The account has the maximum of {limit} segments. Delete one first."


class SegmentWithoutFilter(RosterError):
    reason = "SEGMENT_WITHOUT_FILTER"
    message = (
        "This segment has no filter, because a tag or custom field that it named was deleted. "
        "Update its filter first."
    )


class UsedBySegments(RosterError):
    """Filters of segments, given as pairs of ID and name, name the tag or custom field.

    It is to be deleted, or to have a data type with which the filters are not valid.
    """

    reason = "USED_BY_SEGMENTS"
    message = (
        "Segments use this. Update them first, or set force of a deletion to clear their filters."
    )

    def __init__(
        self, segments: Sequence[tuple[str, str]], field: str = "id", message: str = ""
    ) -> None:
        self.message = message or self.message
        self.details = [
            Detail(field, "IN_USE", f"is used by the segment {name} ({segment_id})")
            for segment_id, name in segments
        ]
        ids = [segment_id for segment_id, _ in segments[:MAX_DETAILS]]
        super().__init__(segmentIds=",".join(ids))


class OperationNotFound(RosterError):
    """The account has no such operation, or it was deleted after its retention period."""

    reason = "OPERATION_NOT_FOUND"
    message = "Operation not found."


class OperationLimitReached(LimitReached):
    reason = "OPERATION_LIMIT_REACHED"
    message = "The account has the maximum of {limit} running operations. Wait for one to end."


class SelectionChanged(RosterError):
    reason = "SELECTION_CHANGED"
    message = (
        "The number of selected subscribers is {total} instead of {expectedTotal}. Nothing was"
        " started. Read the selection again."
    )

    def __init__(self, expected: int, total: int) -> None:
        # HTTP returns no metadata.
        self.details = (Detail("expectedTotal", "INVALID_VALUE", f"must be {total}"),)
        super().__init__(expectedTotal=expected, total=total)


class OperationNotEnded(RosterError):
    reason = "OPERATION_NOT_ENDED"
    message = "The operation has not ended. Wait for its end, or cancel it, before you undo it."


class OperationNotUndoable(RosterError):
    reason = "OPERATION_NOT_UNDOABLE"
    message = (
        "This operation cannot be undone: it deleted subscribers, was a dry run, a replay or an"
        " undo, changed no subscribers, or was started by an earlier version."
    )


class UndoExpired(RosterError):
    reason = "UNDO_EXPIRED"
    message = "The operation ended more than {hours} hours ago and can no longer be undone."


class OperationAlreadyUndone(RosterError):
    reason = "OPERATION_ALREADY_UNDONE"
    message = "The operation {undoneBy} undoes this one or has undone it."


class InsufficientStorage(RosterError):
    """The disk is full. Nothing was stored."""

    reason = "INSUFFICIENT_STORAGE"
    message = "The server has no space for the file. Nothing was stored; try again later."


class FileQuotaExceeded(InsufficientStorage):
    """The account has too many bytes of files. Waiting does not help."""

    message = (
        "The files of the account would exceed {limit} bytes. Nothing was stored; delete some."
    )


class ExportNotFound(RosterError):
    reason = "EXPORT_NOT_FOUND"
    message = "Export not found."


class ExportNotReady(RosterError):
    reason = "EXPORT_NOT_READY"
    message = "The file of the export is not complete."


class ExportLimitReached(LimitReached):
    reason = "EXPORT_LIMIT_REACHED"
    message = "The account has the maximum of {limit} exports. Delete one."


class RangeNotSatisfiable(RosterError):
    reason = "RANGE_NOT_SATISFIABLE"
    message = "The range begins after the end of the file, which has {size} bytes."


class ImportNotFound(RosterError):
    reason = "IMPORT_NOT_FOUND"
    message = "Import not found."


class ImportLimitReached(LimitReached):
    reason = "IMPORT_LIMIT_REACHED"
    message = "The account has the maximum of {limit} imports that have not ended."


class ImportStateConflict(RosterError):
    reason = "IMPORT_STATE_CONFLICT"
    message = "The import is {state}. This call needs one that is {needed}."


class UploadOffsetMismatch(RosterError):
    reason = "UPLOAD_OFFSET_MISMATCH"
    message = "The next part of the file has to begin at offset {offset}."

    def __init__(self, offset: int) -> None:
        # HTTP returns no metadata.
        self.details = (Detail("offset", "INVALID_VALUE", f"must be {offset}"),)
        super().__init__(offset=offset)


class LinkNotFound(RosterError):
    """The token of a link is invalid or does not work anymore. The message is always the same."""

    reason = "LINK_NOT_FOUND"
    message = "Link not found."

    def __init__(self, page: bytes = b"") -> None:
        self.page = page
        super().__init__()


class PublicUrlNotSet(RosterError):
    reason = "PUBLIC_URL_NOT_SET"
    message = "The server has no public URL, so it cannot create links. Set ROSTER_PUBLIC_URL."


class WebhookNotFound(RosterError):
    reason = "WEBHOOK_NOT_FOUND"
    message = "Webhook not found."


class WebhookLimitReached(LimitReached):
    reason = "WEBHOOK_LIMIT_REACHED"
    message = "The account has the maximum of {limit} webhooks. Delete one first."


class WebhookDeliveryNotFound(RosterError):
    """The account has no such delivery, or it was deleted after its retention period."""

    reason = "WEBHOOK_DELIVERY_NOT_FOUND"
    message = "Webhook delivery not found."


class EventNotFound(RosterError):
    """The account has no such event, or it was deleted after its retention period."""

    reason = "EVENT_NOT_FOUND"
    message = "Event not found."


class ApiKeyNotFound(RosterError):
    reason = "API_KEY_NOT_FOUND"
    message = "API key not found."


class SessionNotFound(RosterError):
    reason = "SESSION_NOT_FOUND"
    message = "Session not found."


class SignInLinkNotFound(RosterError):
    reason = "SIGN_IN_LINK_NOT_FOUND"
    message = "Sign-in link not found."


class SignInLinkLimitReached(LimitReached):
    reason = "SIGN_IN_LINK_LIMIT_REACHED"
    message = "The account has the maximum of {limit} sign-in links. Revoke one first."


class ApiKeyExpired(RosterError):
    reason = "API_KEY_EXPIRED"
    message = "This API key has expired. Create a new key."


class LastAdminKey(RosterError):
    reason = "LAST_ADMIN_KEY"
    message = "No admin key without an expiry would be left. Create another one first."


class RateLimited(RosterError):
    """The account exceeded its rate limit. Subclasses are the other causes of the status 429."""

    reason = "RATE_LIMITED"
    message = "The account has reached its rate limit. Try again in {retryAfterSeconds} s."

    def __init__(self, retry_after: int, **variables: str | int) -> None:
        self.retry_after = retry_after
        super().__init__(retryAfterSeconds=retry_after, **variables)


class StreamLimitReached(RateLimited):
    reason = "STREAM_LIMIT_REACHED"
    message = (
        "The account has the maximum of {limit} running streams of this kind."
        " Try again in {retryAfterSeconds} s."
    )


class CpuShareExceeded(RateLimited):
    reason = "CPU_SHARE_EXCEEDED"
    message = (
        "The account uses its share of CPU time while other accounts call."
        " Try again in {retryAfterSeconds} s."
    )


class TooManyInvalidKeys(RateLimited):
    reason = "TOO_MANY_INVALID_KEYS"
    message = "Too many calls without a valid API key. Try again in {retryAfterSeconds} s."


class TooManyInvalidLinks(RateLimited):
    reason = "TOO_MANY_INVALID_LINKS"
    message = "Too many links that do not work. Try again in {retryAfterSeconds} s."

    def __init__(self, retry_after: int, page: bytes) -> None:
        self.page = page
        super().__init__(retry_after)


class TooManySignups(RateLimited):
    reason = "TOO_MANY_SIGNUPS"
    message = "Too many sign-ups. Try again in {retryAfterSeconds} s."


class TestDeliveryLimitReached(RateLimited):
    reason = "TEST_DELIVERY_LIMIT_REACHED"
    message = (
        "This webhook has the maximum of {limit} running tests. Try again in {retryAfterSeconds} s."
    )


class IdempotencyKeyReused(RosterError):
    reason = "IDEMPOTENCY_KEY_REUSED"
    message = "This idempotency key was already used with a different request. Use a new key."


class IdempotencyKeyInUse(RosterError):
    reason = "IDEMPOTENCY_KEY_IN_USE"
    message = "The first request with this idempotency key is still running. Try again later."


class IdempotentResponseErased(RosterError):
    reason = "IDEMPOTENT_RESPONSE_ERASED"
    message = (
        "The response to this idempotency key was removed, because it named a person whose data"
        " was erased. Nothing was changed. To make the request again, use a new key."
    )


class PreconditionFailed(RosterError):
    reason = "PRECONDITION_FAILED"
    message = (
        "The resource changed after you read it, so nothing was changed. Read it again, apply your"
        " change to its new state, and send it with the new ETag."
    )


class MethodNotImplemented(RosterError):
    reason = "METHOD_NOT_IMPLEMENTED"
    message = "The service does not implement this method."


class FieldNotImplemented(RosterError):
    """The request has fields of a later version; `numbers` are their paths by field number.

    An unknown field is not ignored, because without a filter or a condition a request can affect
    more people than it asks for. The status UNIMPLEMENTED states that another attempt on this
    server cannot succeed, and is that of a missing rpc. UNAVAILABLE would cause retries, and let a
    client take servers out of the rotation of its proxy.
    """

    reason = "FIELD_NOT_IMPLEMENTED"
    message = (
        "The request has a field that this server does not have, because its version is earlier"
        " than that of the client's protos. The message was not processed."
    )

    def __init__(self, numbers: Sequence[str]) -> None:
        self.details = [
            Detail(path, "UNKNOWN_FIELD", "is the number of an unknown field") for path in numbers
        ]
        super().__init__()


class ServiceNotFound(RosterError):
    reason = "SERVICE_NOT_FOUND"
    message = "This server does not have the requested service."


class Unavailable(RosterError):
    reason = "UNAVAILABLE"
    message = "The service is temporarily unavailable. Nothing was changed; try again."


class StatementTimeout(Unavailable):
    """A statement exceeded the timeout of the database server; nothing was changed."""


class DatabaseFull(Unavailable):
    """The disk of the database is full; nothing was changed."""


class Overloaded(Unavailable):
    message = "The server is overloaded. Nothing was changed; try again later."

    def __init__(self, retry_after: float = 1.0) -> None:
        self.retry_after = retry_after
        super().__init__()


class DeadlineExceeded(RosterError):
    reason = "DEADLINE_EXCEEDED"
    message = "The deadline of this call passed. Nothing was changed."


class Internal(RosterError):
    reason = "INTERNAL"
    message = "An internal error occurred. See the server log for this request ID."
