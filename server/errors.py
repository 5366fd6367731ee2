"""Every way in which Roster refuses a call, as the product would say it.

An error carries a stable reason (a value of `Error.Reason` in errors.proto), one
sentence for people, and, where a request is at fault, the places. What status a
reason has on each front is written in errors.proto and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Detail:
    """One fault of a request.

    `field` is a JSON path such as `subscribers[3].email`, `code` a value of
    `Error.Detail.Code`, `message` a sentence for people.
    """

    field: str
    code: str
    message: str


class RosterError(Exception):
    """The base of everything that a caller may be told."""

    reason: str
    message: str
    details: Sequence[Detail] = ()
    # In how many seconds the same call may be made again, where that is known.
    retry_after: float | None = None

    def __init__(self) -> None:
        super().__init__(self.message)


class ValidationError(RosterError):
    """The request breaks a rule; `details` says where and how."""

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
    """No usable key came with the call. Never says which of the many ways it was."""

    reason = "UNAUTHORIZED"
    message = "A valid API key is required."


class Forbidden(RosterError):
    """The key's scope does not cover the operation."""

    reason = "FORBIDDEN"
    message = "The scope of this API key does not allow this operation."


class EmailNotVerified(RosterError):
    """The account's own address has to be verified first."""

    reason = "EMAIL_NOT_VERIFIED"
    message = "The account's email address has to be verified before this operation."


class SubscriberNotFound(RosterError):
    """The account has no such subscriber."""

    reason = "SUBSCRIBER_NOT_FOUND"
    message = "There is no such subscriber."


class SubscriberAlreadyExists(RosterError):
    """Another subscriber of the account has the address."""

    reason = "SUBSCRIBER_ALREADY_EXISTS"
    message = "A subscriber with this email address already exists."
    details = (Detail("email", "TAKEN", "is taken"),)


class SubscriberSuppressed(RosterError):
    """The owner of the address had opted out when it was deleted."""

    reason = "SUBSCRIBER_SUPPRESSED"
    message = "The owner of this email address has opted out. Lift the suppression first."
    details = (Detail("email", "INVALID_VALUE", "is suppressed"),)


class InvalidStatusTransition(RosterError):
    """A subscriber cannot go from its status to the one that was asked for."""

    reason = "INVALID_STATUS_TRANSITION"
    message = "The subscriber cannot go from its status to this one."

    def __init__(self, before: str, after: str, *, but_for: str = "") -> None:
        told = f"cannot go from {before} to {after}{but_for}"
        self.details = (Detail("status", "INVALID_VALUE", told),)
        super().__init__()


class SuppressionNotFound(RosterError):
    """The account has no suppression of the address."""

    reason = "SUPPRESSION_NOT_FOUND"
    message = "There is no suppression of this email address."


class TagNotFound(RosterError):
    """The account has no such tag."""

    reason = "TAG_NOT_FOUND"
    message = "There is no such tag."


class TagAlreadyExists(RosterError):
    """Another tag of the account has the name."""

    reason = "TAG_ALREADY_EXISTS"
    message = "A tag with this name already exists."
    details = (Detail("name", "TAKEN", "is taken"),)


class CustomFieldNotFound(RosterError):
    """The account has no such custom field."""

    reason = "CUSTOM_FIELD_NOT_FOUND"
    message = "There is no such custom field."


class CustomFieldAlreadyExists(RosterError):
    """Another custom field of the account has the label or the key that it derives."""

    reason = "CUSTOM_FIELD_ALREADY_EXISTS"
    message = "A custom field with this label, or with the key that it derives, already exists."
    details = (Detail("label", "TAKEN", "is taken"),)


class CustomFieldLimitReached(RosterError):
    """The account has as many custom fields as it may have."""

    reason = "CUSTOM_FIELD_LIMIT_REACHED"
    message = "The account has as many custom fields as it may have."


class WebhookNotFound(RosterError):
    """The account has no such webhook."""

    reason = "WEBHOOK_NOT_FOUND"
    message = "There is no such webhook."


class WebhookLimitReached(RosterError):
    """The account has as many webhooks as it may have."""

    reason = "WEBHOOK_LIMIT_REACHED"
    message = "The account has as many webhooks as it may have."


class ReplayLimitReached(RosterError):
    """As many replays of the webhook are under way as may be."""

    reason = "WEBHOOK_LIMIT_REACHED"
    message = "As many replays of this webhook are under way as may be. Wait until one has ended."


class WebhookDeliveryNotFound(RosterError):
    """The account has no such delivery, or has it no more."""

    reason = "WEBHOOK_DELIVERY_NOT_FOUND"
    message = "There is no such webhook delivery."


class ApiKeyNotFound(RosterError):
    """The account has no such key."""

    reason = "API_KEY_NOT_FOUND"
    message = "There is no such API key."


class ApiKeyExpired(RosterError):
    """The key has expired: a new secret for it would not work."""

    reason = "API_KEY_EXPIRED"
    message = "This API key has expired. Create a new key."


class LastAdminKey(RosterError):
    """Without the key, the account would have no usable admin key."""

    reason = "LAST_ADMIN_KEY"
    message = "This is the account's last usable admin key. Create another admin key first."


class RateLimited(RosterError):
    """The account has made as many calls as it may for now."""

    reason = "RATE_LIMITED"

    def __init__(self, retry_after: int) -> None:
        wait = "1 second" if retry_after == 1 else f"{retry_after} seconds"
        self.message = f"The account's rate limit is reached. Try again in {wait}."
        self.retry_after = retry_after
        super().__init__()


class TooManyFailedAttempts(RosterError):
    """Too many calls with wrong keys came from where this one comes from."""

    reason = "RATE_LIMITED"

    def __init__(self, retry_after: int) -> None:
        wait = "1 second" if retry_after == 1 else f"{retry_after} seconds"
        self.message = f"Too many calls without a valid key came from here. Try again in {wait}."
        self.retry_after = retry_after
        super().__init__()


class TooManyTestDeliveries(RosterError):
    """As many tests of the webhook as there may be are on their way; nothing was sent."""

    reason = "RATE_LIMITED"
    message = "Too many tests of this webhook are on their way. Try again when they have ended."

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__()


class IdempotencyKeyReused(RosterError):
    """The idempotency key came with another request before."""

    reason = "IDEMPOTENCY_KEY_REUSED"
    message = "This idempotency key came with another request before."


class IdempotencyKeyInUse(RosterError):
    """The request that first came with the idempotency key is still running."""

    reason = "IDEMPOTENCY_KEY_IN_USE"
    message = "The first request with this idempotency key is still running."


class MethodNotImplemented(RosterError):
    """The service has no method of this name."""

    reason = "METHOD_NOT_IMPLEMENTED"
    message = "The service does not implement this method."


class ServiceNotFound(RosterError):
    """A health check names a service that this server does not have."""

    reason = "SERVICE_NOT_FOUND"
    message = "This server has no such service."


class Unavailable(RosterError):
    """The service cannot take the call now; nothing was changed."""

    reason = "UNAVAILABLE"
    message = "The service cannot take this call now. Nothing was changed; try again."


class Overloaded(Unavailable):
    """The service has more to do than it could answer in time; nothing was changed."""

    message = "The service has too much to do. Nothing was changed; try again later."

    def __init__(self, retry_after: float = 1.0) -> None:
        self.retry_after = retry_after
        super().__init__()


class DeadlineExceeded(RosterError):
    """The call's time was over before its effect began."""

    reason = "DEADLINE_EXCEEDED"
    message = "The deadline of this call passed. Nothing was changed."


class Internal(RosterError):
    """The service failed; the log tells the story."""

    reason = "INTERNAL"
    message = "The service failed. Its log tells more under the request id."
