"""ProtoJSON, compiled: a reader and a writer for each message type.

Both are made once from the descriptor, for a style. Readers collect violations by JSON
path instead of stopping at the first. Beyond the specification there are the options
of http.proto: keys that are ignored, booleans that may be spelt in many ways, rows
that are judged alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from ..request_errors import Violations
from .fields import row_errors_field
from .items import rows_reader
from .keys import MessageReader
from .reading import Readers
from .style import SERVICE, Style
from .well_known import is_well_known
from .writing import MessageWriter, Writers

__all__ = [
    "MessageReader",
    "MessageWriter",
    "message_class",
    "reader",
    "row_errors_field",
    "rows_reader",
    "writer",
]


@cache
def reader(
    descriptor: Descriptor, excluded: frozenset[str] = frozenset(), *, style: Style = SERVICE
) -> MessageReader:
    """Returns a function that reads a JSON value into a message.

    It returns the object that it read, less ignored keys, under the JSON names of its
    fields; an empty one where it is no object, or stands for a well-known type.

    `excluded` names fields that come from elsewhere and are unknown in the
    object: those of the path, and a field mask that is made from the keys.
    """
    readers = _readers(style)
    if not is_well_known(descriptor):
        return readers.of(descriptor, excluded)
    read_in_place = readers.in_place(descriptor)

    def read(value: Any, path: str, violations: Violations, message: Any) -> dict[str, Any]:
        read_in_place(value, path, violations, message)
        return {}

    return read


@cache
def writer(descriptor: Descriptor, *, style: Style = SERVICE) -> MessageWriter:
    """Returns a function from a message to what orjson writes.

    It raises NoJsonForm for a message that JSON cannot say.
    """
    return _writers(style).of(descriptor)


@cache
def _readers(style: Style) -> Readers:
    return Readers(style)


@cache
def _writers(style: Style) -> Writers:
    return Writers(style)


def message_class(descriptor: Descriptor) -> type[Message]:
    """Returns the class of a message type."""
    return message_factory.GetMessageClass(descriptor)
