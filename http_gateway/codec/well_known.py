"""Readers and writers of the google.protobuf messages with a special JSON form.

Types that are a scalar in JSON have a filler: it sets a message to a JSON value or raises
InvalidValue. The others have an in-place reader, as other messages do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from google.protobuf.descriptor import Descriptor

from ..request_errors import Violations
from . import scalars, structs, timestamps
from .masks import fill_mask, write_mask
from .options import CodecOptions

Filler = Callable[[Any, Any], None]
InPlaceReader = Callable[[Any, str, Violations, Any], object]
Writer = Callable[[Any], Any]

ANY = "google.protobuf.Any"
VALUE = "google.protobuf.Value"
LIST = "google.protobuf.ListValue"

_TIMESTAMP = "google.protobuf.Timestamp"
_WRAPPERS = "google/protobuf/wrappers.proto"

_FILLERS: dict[str, Filler] = {
    _TIMESTAMP: timestamps.fill_timestamp,
    "google.protobuf.Duration": timestamps.fill_duration,
    "google.protobuf.FieldMask": fill_mask,
}
_IN_PLACE: dict[str, InPlaceReader] = {
    "google.protobuf.Struct": structs.read_struct,
    LIST: structs.read_list,
    VALUE: structs.read_value,
}
_WRITERS: dict[str, Writer] = {
    _TIMESTAMP: timestamps.write_timestamp,
    "google.protobuf.Duration": timestamps.write_duration,
    "google.protobuf.FieldMask": write_mask,
    "google.protobuf.Struct": structs.write_struct,
    LIST: structs.write_list,
    VALUE: structs.write_value,
}


def is_well_known(kind: Descriptor) -> bool:
    """Whether a message type has a special JSON form."""
    return kind.full_name == ANY or kind.full_name in _WRITERS or is_wrapper(kind)


def is_wrapper(kind: Descriptor) -> bool:
    """Whether a message type is a wrapper of a scalar, such as StringValue."""
    return kind.file.name == _WRAPPERS


def filler(kind: Descriptor) -> Filler | None:
    """Returns the filler of a type that is a scalar in JSON; None for other types."""
    if is_wrapper(kind):
        return partial(_fill_wrapper, scalars.READERS[kind.fields_by_name["value"].type])
    return _FILLERS.get(kind.full_name)


def in_place_reader(kind: Descriptor) -> InPlaceReader | None:
    """Returns the reader of Struct, ListValue or Value; None for other types."""
    return _IN_PLACE.get(kind.full_name)


def writer(kind: Descriptor, options: CodecOptions) -> Writer | None:
    """Returns the writer of a well-known type except Any; None for other types."""
    if is_wrapper(kind):
        convert = scalars.WRITERS.get(kind.fields_by_name["value"].type)
        return _unwrapped if convert is None else partial(_write_wrapper, convert)
    if kind.full_name == _TIMESTAMP and options.milliseconds:
        return timestamps.write_milliseconds
    return _WRITERS.get(kind.full_name)


def _fill_wrapper(read: scalars.Reader, value: Any, target: Any) -> None:
    target.value = read(value)


def _unwrapped(wrapper: Any) -> Any:
    return wrapper.value


def _write_wrapper(convert: Writer, wrapper: Any) -> Any:
    return convert(wrapper.value)
