"""Whether the caller may make the call, and whether the request keeps the bounds.

In this order: a body that is too large or of the wrong kind, the key's scope,
the account's verified email, then the faults of the request. A gateway that
could not read a body sends its finding along instead of answering by itself, so
that nobody learns anything about a body's faults without a key that may send it.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterator,
    Sequence,
)
from contextlib import aclosing
from functools import cache
from typing import Any, NamedTuple

import protovalidate
from buf.validate import validate_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from roster.v1 import errors_pb2, http_pb2

from ..accounts.rules import allows
from ..caller import current
from ..errors import Detail, EmailNotVerified, Forbidden, RosterError, ValidationError, invalid
from ..messages import Context
from ..texts import has_control_characters, trim
from .base import Interceptor, Method, Proceed, ProceedStream

FAULT = "roster-fault-bin"
# What a gateway can find wrong. Anything else under that name is nobody's finding.
_FINDINGS = frozenset(
    {"VALIDATION_ERROR", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "REQUEST_TIMEOUT"}
)

# What a broken rule of buf.validate is called here, by the last word of its id.
_CODES = {
    "required": "REQUIRED",
    "min_len": "REQUIRED",
    "max_len": "TOO_LONG",
    "min_items": "TOO_FEW",
    "max_items": "TOO_MANY",
    "gte": "OUT_OF_RANGE",
    "gte_lte": "OUT_OF_RANGE",
    "gt_now": "OUT_OF_RANGE",
    "gt_now_lt": "OUT_OF_RANGE",
    "lt": "OUT_OF_RANGE",
    "in": "INVALID_VALUE",
    "defined_only": "INVALID_VALUE",
}
_MESSAGES = {
    "required": "is required",
    "min_len": "is required",
}


class GatewayFault(RosterError):
    """What the gateway found wrong with a body before it could make a request of it."""

    def __init__(self, reason: str, message: str, details: Sequence[Detail]) -> None:
        self.reason, self.message, self.details = reason, message, details
        super().__init__()


class Validate(Interceptor):
    """Checks access and bounds, so that services can rely on both.

    Only the interceptor of idempotency keys runs after it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._validator = protovalidate.Validator()

    def _wrap(self, method: Method, handler: Any) -> Any:
        handler = handler._replace(request_deserializer=tolerant(handler.request_deserializer))
        return super()._wrap(method, handler)

    async def around(
        self, method: Method, proceed: Proceed, request: Any, context: Context
    ) -> Message:
        self._admit(method, context)
        self._check(method, request)
        return await proceed(request, context)

    async def around_stream(
        self, method: Method, proceed: ProceedStream, request: Any, context: Context
    ) -> AsyncGenerator[Message, None]:
        self._admit(method, context)
        if isinstance(request, AsyncIterable):
            request = self._checked(method, request)
        else:
            self._check(method, request)
        async with aclosing(proceed(request, context)) as replies:
            async for reply in replies:
                yield reply

    async def _checked(
        self, method: Method, requests: AsyncIterable[Message | None]
    ) -> AsyncIterator[Message]:
        async for request in requests:
            self._check(method, request)
            assert request is not None
            yield request

    def _admit(self, method: Method, context: Context) -> None:
        """Raises the gateway's finding, if it has one, in its place among the other checks."""
        fault = gateway_fault(context)
        if fault is not None and fault.reason != ValidationError.reason:
            raise fault
        caller = current()
        if not allows(caller.scope, method.scope):
            raise Forbidden
        if method.needs_verified_email and not caller.email_verified:
            raise EmailNotVerified
        if fault is not None:
            raise fault

    def _check(self, method: Method, request: Any) -> None:
        """Trims the text of a request. Raises ValidationError if it does not keep the bounds."""
        if request is None:
            raise not_a_message()
        checks = checks_of(request.DESCRIPTOR, method.path_fields)
        faults = list(checks.text_faults(request))
        if checks.has_bounds:
            violations = self._validator.collect_violations(request)
            faults += [_detail(violation.proto) for violation in violations]
        if faults:
            raise ValidationError(faults)


def not_a_message() -> ValidationError:
    """Returns the error of a request whose bytes `tolerant` could not read."""
    return invalid("", "INVALID_FORMAT", "is not a message of the type that the rpc takes")


def tolerant(deserialize: Callable[[bytes], Message]) -> Callable[[bytes], Message | None]:
    """Reads None from bytes that are no message.

    grpc.aio reads a request before any interceptor runs, and would tell the
    caller of the exception by its class.
    """

    def read(data: bytes) -> Message | None:
        try:
            return deserialize(data)
        except DecodeError:
            return None

    return read


def gateway_fault(context: Context) -> GatewayFault | None:
    """Returns the finding that came with the call, or None; what is no finding is ignored."""
    for name, value in context.invocation_metadata() or ():
        if name == FAULT and isinstance(value, bytes):
            return _finding(value)
    return None


def _finding(value: bytes) -> GatewayFault | None:
    try:
        error = errors_pb2.Error.FromString(value)
        reason = errors_pb2.Error.Reason.Name(error.reason)
        codes = [errors_pb2.Error.Detail.Code.Name(detail.code) for detail in error.details]
    except (DecodeError, ValueError):
        return None
    if reason not in _FINDINGS:
        return None
    details = [
        Detail(detail.field, code, detail.message)
        for detail, code in zip(error.details, codes, strict=True)
    ]
    return GatewayFault(reason, error.message, details)


class Text(NamedTuple):
    """A field of text, and what its options ask for."""

    name: str
    is_repeated: bool
    is_trimmed: bool
    is_multiline: bool

    def faults(self, request: Any) -> Iterator[Detail]:
        """Trims the field if it declares that. Yields each text with control characters."""
        if self.is_repeated:
            values = getattr(request, self.name)
            for index, value in enumerate(values):
                if self._is_at_fault(value):
                    yield self._fault(f"{json_name(self.name)}[{index}]")
                elif self.is_trimmed and (trimmed := trim(value)) != value:
                    values[index] = trimmed
            return
        value = getattr(request, self.name)
        if self._is_at_fault(value):
            yield self._fault(json_name(self.name))
        elif self.is_trimmed and (trimmed := trim(value)) != value:
            setattr(request, self.name, trimmed)

    def _is_at_fault(self, value: str) -> bool:
        # Line breaks around text that is trimmed go, as blanks do; no other control does.
        if self.is_trimmed and has_control_characters(value, multiline=True):
            return True
        text = value.strip() if self.is_trimmed else value
        return has_control_characters(text, multiline=self.is_multiline)

    def _fault(self, path: str) -> Detail:
        but = " other than tabs and line breaks" if self.is_multiline else ""
        return Detail(path, "INVALID_CHARACTER", f"must not contain control characters{but}")


class Checks(NamedTuple):
    """What is done with a request of some type: text trimmed and checked, bounds or not."""

    texts: Sequence[Text]
    has_bounds: bool

    def text_faults(self, request: Any) -> Iterator[Detail]:
        """Trims the text of a request. Yields what holds control characters."""
        for text in self.texts:
            yield from text.faults(request)


@cache
def checks_of(message: Descriptor, path_fields: frozenset[str]) -> Checks:
    """Returns what the options of a message, its fields and its file ask for.

    Text in the path is not checked: what is no identifier is not found.
    """
    return Checks(
        texts=[
            Text(
                field.name,
                field.is_repeated,
                field.GetOptions().Extensions[http_pb2.trimmed],
                field.GetOptions().Extensions[http_pb2.multiline],
            )
            for field in message.fields
            if field.type == FieldDescriptor.TYPE_STRING and field.name not in path_fields
        ],
        has_bounds=any(
            field.GetOptions().HasExtension(validate_pb2.field) for field in message.fields
        ),
    )


def _detail(violation: Any) -> Detail:
    rule = violation.rule_id.rpartition(".")[2]
    code = _CODES.get(rule, "INVALID_VALUE")
    return Detail(json_path(violation.field), code, _MESSAGES.get(rule, violation.message))


def json_path(path: Any) -> str:
    """Returns a field path of buf.validate as a JSON path, such as subscribers[3].email."""
    text = ""
    for element in path.elements:
        text += f".{json_name(element.field_name)}" if text else json_name(element.field_name)
        if element.subscript is not None:
            text += f"[{element.subscript.value}]"
    return text


def json_name(field: str) -> str:
    """Returns the ProtoJSON name of a field: first_name is firstName."""
    head, *rest = field.split("_")
    return head + "".join(word.capitalize() for word in rest)
