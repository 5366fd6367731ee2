"""Any between JSON and protobuf: a message of a type that is named beside it.

Types are looked up among the descriptors that the field's own type belongs to. The
JSON of a well-known type stands under the key `value`; every other message has its
fields beside `@type`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from ..request_errors import Violations, join
from .scalars import NoJsonForm
from .style import Style
from .well_known import InPlaceReader, Writer, is_well_known

_TYPE = "@type"
_VALUE = "value"


def any_reader(
    kind: Descriptor, style: Style, reader_of: Callable[[Descriptor], InPlaceReader]
) -> InPlaceReader:
    """Returns a reader of Any, which takes objects; `reader_of` gives those of other types."""

    def read(value: Any, path: str, violations: Violations, target: Any) -> None:
        if type(value) is not dict:
            violations.add(path, "INVALID_TYPE", "must be an object")
            return
        if not value:
            return
        held = _held_type(value.get(_TYPE), kind, join(path, _TYPE), violations)
        if held is None:
            return
        message, own = GetMessageClass(held)(), len(violations.found)
        rest = {key: item for key, item in value.items() if key != _TYPE}
        if not is_well_known(held):
            reader_of(held)(rest, path, violations, message)
        elif _VALUE not in rest:
            violations.add(join(path, _VALUE), "REQUIRED", "is required")
        else:
            reader_of(held)(rest.pop(_VALUE), join(path, _VALUE), violations, message)
            for key in rest if not style.ignore_unknown else ():
                violations.add(join(path, key), "UNKNOWN_FIELD", "is not a known field")
        if len(violations.found) == own:
            target.type_url = value[_TYPE]
            target.value = message.SerializePartialToString(deterministic=True)

    return read


def _held_type(url: Any, kind: Descriptor, path: str, violations: Violations) -> Descriptor | None:
    """Returns the type that a URL names; None, and a fault, if there is none."""
    if url is None:
        violations.add(path, "REQUIRED", "is required")
    elif type(url) is not str:
        violations.add(path, "INVALID_TYPE", "must be a string")
    else:
        found = _find(url, kind)
        if found is None:
            violations.add(path, "INVALID_VALUE", "must be the URL of a known message type")
        return found
    return None


def _find(url: str, kind: Descriptor) -> Descriptor | None:
    domain, slash, name = url.rpartition("/")
    if not domain or not slash:
        return None
    try:
        found: Descriptor = kind.file.pool.FindMessageTypeByName(name)
    except KeyError:
        return None
    return found


def any_writer(kind: Descriptor, writer_of: Callable[[Descriptor], Writer]) -> Writer:
    """Returns a writer of Any; `writer_of` gives those of other types.

    It raises NoJsonForm for a type that is not known, and for bytes that are no message of it.
    """

    def write(message: Any) -> dict[str, Any]:
        url = message.type_url
        if not url and not message.value:
            return {}
        held = _find(url, kind)
        if held is None:
            raise NoJsonForm(f"a google.protobuf.Any of {url!r} has no JSON form here")
        try:
            inner = GetMessageClass(held).FromString(message.value)
        except DecodeError:
            text = "whose bytes are none has no JSON form"
            raise NoJsonForm(f"a google.protobuf.Any of {url!r} {text}") from None
        value = writer_of(held)(inner)
        return {_TYPE: url, _VALUE: value} if is_well_known(held) else {_TYPE: url, **value}

    return write
