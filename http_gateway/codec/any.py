"""Converts google.protobuf.Any between JSON and protobuf.

Types are looked up in the descriptor pool of the field's type. The JSON of a well-known
type is under the key `value`; any other message has its fields next to `@type`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from ..request_errors import Violations, join
from .options import CodecOptions
from .scalars import NoJsonForm
from .well_known import InPlaceReader, Writer, is_well_known

_TYPE = "@type"
_VALUE = "value"


def any_reader(
    kind: Descriptor, options: CodecOptions, reader_of: Callable[[Descriptor], InPlaceReader]
) -> InPlaceReader:
    """Returns a reader of Any. `reader_of` returns the reader of the contained type."""

    def read(value: Any, path: str, violations: Violations, target: Any) -> None:
        if type(value) is not dict:
            violations.add(path, "INVALID_TYPE", "must be an object")
            return
        if not value:
            return
        contained = _contained_type(value.get(_TYPE), kind, join(path, _TYPE), violations)
        if contained is None:
            return
        message, violations_before = GetMessageClass(contained)(), len(violations.details)
        rest = {key: item for key, item in value.items() if key != _TYPE}
        if not is_well_known(contained):
            reader_of(contained)(rest, path, violations, message)
        elif _VALUE not in rest:
            violations.add(join(path, _VALUE), "REQUIRED", "is required")
        else:
            reader_of(contained)(rest.pop(_VALUE), join(path, _VALUE), violations, message)
            for key in rest if not options.ignore_unknown else ():
                violations.add(join(path, key), "UNKNOWN_FIELD", "is not a known field")
        if len(violations.details) == violations_before:
            target.type_url = value[_TYPE]
            target.value = message.SerializePartialToString(deterministic=True)

    return read


def _contained_type(
    url: Any, kind: Descriptor, path: str, violations: Violations
) -> Descriptor | None:
    """Returns the type that a type URL names. Adds a violation and returns None if unknown."""
    if url is None:
        violations.add(path, "REQUIRED", "is required")
    elif type(url) is not str:
        violations.add(path, "INVALID_TYPE", "must be a string")
    else:
        contained = _find_type(url, kind)
        if contained is None:
            violations.add(path, "INVALID_VALUE", "must be the URL of a known message type")
        return contained
    return None


def _find_type(url: str, kind: Descriptor) -> Descriptor | None:
    domain, slash, name = url.rpartition("/")
    if not domain or not slash:
        return None
    try:
        contained: Descriptor = kind.file.pool.FindMessageTypeByName(name)
    except KeyError:
        return None
    return contained


def any_writer(kind: Descriptor, writer_of: Callable[[Descriptor], Writer]) -> Writer:
    """Returns a writer of Any. `writer_of` returns the writer of the contained type.

    The writer raises NoJsonForm if the type is unknown or the bytes do not parse as that type.
    """

    def write(message: Any) -> dict[str, Any]:
        url = message.type_url
        if not url and not message.value:
            return {}
        contained = _find_type(url, kind)
        if contained is None:
            raise NoJsonForm(f"google.protobuf.Any of the unknown type {url!r} has no JSON form")
        try:
            inner = GetMessageClass(contained).FromString(message.value)
        except DecodeError:
            text = f"google.protobuf.Any of {url!r} with malformed bytes has no JSON form"
            raise NoJsonForm(text) from None
        value = writer_of(contained)(inner)
        return {_TYPE: url, _VALUE: value} if is_well_known(contained) else {_TYPE: url, **value}

    return write
