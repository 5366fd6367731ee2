"""Converts between ProtoJSON and messages with compiled readers and writers.

Both are compiled once from the descriptor, for each set of options. Readers collect all
violations by JSON path instead of stopping at the first. In addition to the specification
they support options of a service: ignored keys, boolean-like values, and rows that fail
independently.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from ..policy import NO_ANNOTATIONS, Annotations
from ..request_errors import Violations
from .items import ItemsReader
from .keys import MessageReader
from .options import SERVICE, CodecOptions
from .reading import Readers
from .well_known import is_well_known
from .writing import MessageWriter, Writers

__all__ = [
    "ItemsReader",
    "MessageReader",
    "MessageWriter",
    "items_reader",
    "message_class",
    "reader",
    "writer",
]


@cache
def reader(
    descriptor: Descriptor,
    excluded: frozenset[str] = frozenset(),
    *,
    options: CodecOptions = SERVICE,
    annotations: Annotations = NO_ANNOTATIONS,
) -> MessageReader:
    """Returns a function that reads a JSON value into a message.

    The function returns the object by JSON field names, without ignored keys; an empty one
    if the value is not an object or the message type is well known.

    `excluded` names fields that are unknown in the object, because the path or the gateway
    sets them.
    """
    readers = _readers(options, annotations)
    if not is_well_known(descriptor):
        return readers.of(descriptor, excluded)
    read_in_place = readers.in_place(descriptor)

    def read(value: Any, path: str, violations: Violations, message: Any) -> dict[str, Any]:
        read_in_place(value, path, violations, message)
        return {}

    return read


def items_reader(descriptor: Descriptor, annotations: Annotations) -> ItemsReader:
    """Returns a function that reads an array of objects, or of rows, into a repeated field."""
    return _readers(SERVICE, annotations).items_of(descriptor)


@cache
def writer(
    descriptor: Descriptor,
    *,
    options: CodecOptions = SERVICE,
    annotations: Annotations = NO_ANNOTATIONS,
) -> MessageWriter:
    """Returns a function that converts a message to a value that orjson serializes.

    The function raises NoJsonForm if the message cannot be represented in JSON.
    """
    return _writers(options, annotations).of(descriptor)


@cache
def _readers(options: CodecOptions, annotations: Annotations) -> Readers:
    return Readers(options, annotations)


@cache
def _writers(options: CodecOptions, annotations: Annotations) -> Writers:
    return Writers(options, annotations)


def message_class(descriptor: Descriptor) -> type[Message]:
    return message_factory.GetMessageClass(descriptor)
