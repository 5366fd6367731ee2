"""ProtoJSON, compiled: a reader and a writer for each message type.

Both are made once from the descriptor, as source text that names every field,
so that at run time nothing looks at descriptors. Readers take the values of
`strict_json` and collect faults by JSON path instead of stopping at the first.

Beyond the specification there are the options of http.proto: keys that are
ignored, booleans that may be spelt in many ways, rows that are judged alone. The
well-known types are Timestamp, Struct, Value and ListValue only; a message with
any other is refused when the gateway starts, not when somebody calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from buf.validate import validate_pb2
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from roster.v1 import http_pb2

from ..faults import Faults, join
from . import scalars, well_known
from .scalars import WrongValue

# Reads an object into a message, and returns the object less ignored keys, under
# the JSON names of its fields; an empty one where it is no object at all.
MessageReader = Callable[[Any, str, Faults, Any], dict[str, Any]]
MessageWriter = Callable[[Any], Any]

_TIMESTAMP = "google.protobuf.Timestamp"
_MISSING = object()


class UnsupportedField(TypeError):
    """A field that this codec has no JSON for."""


@cache
def writer(descriptor: Descriptor) -> MessageWriter:
    """Returns a function from a message to what orjson writes."""
    names: dict[str, Any] = {}
    always, present = [], []
    for field in descriptor.fields:
        if _is_row_faults(field) or field.GetOptions().Extensions[http_pb2.next_link]:
            continue
        slot = f"w{field.number}"
        names[slot], of_one = _value_writer(field, slot)
        value = f"m.{field.name}"
        if not field.is_repeated:
            value = of_one.format(value)
        elif of_one == "{}":
            value += "[:]"
        else:
            value = f"[{of_one.format('x')} for x in {value}[:]]"
        if field.has_presence:
            present.append(f"    if m.HasField({field.name!r}): d[{field.json_name!r}] = {value}")
        else:
            always.append(f"{field.json_name!r}: {value}")
    lines = ["def write(m):", f"    d = {{{', '.join(always)}}}", *present, "    return d"]
    write: MessageWriter = _compile(lines, names, "write")
    return write


def _value_writer(field: FieldDescriptor, slot: str) -> tuple[Any, str]:
    """Returns what is needed to write one value of a field, and the text that does so.

    The text has {} where the value stands, and calls what is needed by the name of `slot`.
    """
    if field.enum_type is not None:
        return scalars.enum_names(field.enum_type), f"{slot}[{{}}]"
    if field.message_type is None:
        convert = scalars.WRITERS.get(field.type)
        return convert, f"{slot}({{}})" if convert else "{}"
    if _type_name(field) == _TIMESTAMP:
        return scalars.write_timestamp, f"{slot}({{}})"
    return _message_writer(field), f"{slot}({{}})"


def _message_writer(field: FieldDescriptor) -> MessageWriter:
    if _type_name(field) in well_known.WRITERS:
        return well_known.WRITERS[_type_name(field)]
    _check_supported(field)
    return writer(field.message_type)


@cache
def reader(descriptor: Descriptor, excluded: frozenset[str] = frozenset()) -> MessageReader:
    """Returns a function that reads an object into a message.

    `excluded` names fields that come from elsewhere and are unknown in the
    object: those of the path, and a field mask that is made from the keys.
    """
    fields = [f for f in descriptor.fields if f.name not in excluded and not _is_row_faults(f)]
    keys = _Keys(descriptor, fields)
    names: dict[str, Any] = {
        "keys": keys,
        "known": frozenset(keys.known),
        "missing": _MISSING,
        "join": join,
        "WrongValue": WrongValue,
    }
    lines = [
        "def read(o, path, faults, m):",
        "    if type(o) is not dict:",
        "        faults.add(path, 'INVALID_TYPE', 'must be an object')",
        "        return {}",
        "    if not o.keys() <= known:",
        "        o = keys.clean(o, path, faults)",
    ]
    for field in fields:
        lines += _read_lines(field, names)
    lines.append("    return o")
    read: MessageReader = _compile(lines, names, "read")
    return read


def _read_lines(field: FieldDescriptor, names: dict[str, Any]) -> list[str]:
    key, slot = field.json_name, f"r{field.number}"
    given = "v is not missing" if _takes_null(field) else "v is not missing and v is not None"
    head = [f"    v = o.get({key!r}, missing)", f"    if {given}:"]
    place = f"join(path, {key!r})"
    is_message = _type_name(field) not in ("", _TIMESTAMP)
    names[slot] = _message_reader(field) if is_message else _value_reader(field)
    if field.is_repeated:
        names[f"items{field.number}"] = _items_reader(field, names[slot])
        return [*head, f"        items{field.number}(v, {place}, faults, m.{field.name})"]
    if is_message:
        return [
            *head,
            f"        m.{field.name}.SetInParent()",
            f"        {slot}(v, {place}, faults, m.{field.name})",
        ]
    if field.type == FieldDescriptor.TYPE_STRING:
        return [
            *head,
            "        if type(v) is str:",
            f"            m.{field.name} = v",
            f"        else: faults.add({place}, 'INVALID_TYPE', 'must be a string')",
        ]
    store = (
        f"m.{field.name}.CopyFrom({slot}(v))"
        if field.message_type
        else f"m.{field.name} = {slot}(v)"
    )
    return [
        *head,
        f"        try: {store}",
        "        except WrongValue as e:",
        f"            faults.add({place}, e.code, str(e))",
    ]


def _takes_null(field: FieldDescriptor) -> bool:
    """Whether null is a value of the field, and not as if its key were absent."""
    return _type_name(field) == well_known.VALUE and not field.is_repeated


def _message_reader(field: FieldDescriptor) -> MessageReader | well_known.Reader:
    if _type_name(field) in well_known.READERS:
        return well_known.READERS[_type_name(field)]
    _check_supported(field)
    return reader(field.message_type)


def _value_reader(field: FieldDescriptor) -> scalars.Reader:
    if field.enum_type is not None:
        return scalars.enum_reader(field.enum_type)
    if field.message_type is not None:
        return scalars.read_timestamp
    if field.GetOptions().Extensions[http_pb2.boolean_like]:
        return scalars.read_boolean_like
    return scalars.READERS[field.type]


ItemsReader = Callable[[Any, str, Faults, Any], None]


def _items_reader(field: FieldDescriptor, read: Any) -> ItemsReader:
    """Returns what reads an array into a repeated field."""
    most = field.GetOptions().Extensions[validate_pb2.field].repeated.max_items
    if field.message_type is None:
        return _array(_scalar_items(read), most)
    noted = row_faults(field.message_type)
    return _array(rows_reader(read, noted) if noted else _message_items(read), most)


def _array(read: ItemsReader, most: int) -> ItemsReader:
    """Reads an array, unless it has more items than its field may have."""

    def array(value: Any, path: str, faults: Faults, target: Any) -> None:
        if type(value) is not list:
            faults.add(path, "INVALID_TYPE", "must be an array")
        elif most and len(value) > most:
            faults.add(path, "TOO_MANY", f"must contain at most {most} item(s)")
        else:
            read(value, path, faults, target)

    return array


def _scalar_items(read: scalars.Reader) -> ItemsReader:
    are_texts = read is scalars.read_string

    def items(value: Any, path: str, faults: Faults, target: Any) -> None:
        if are_texts and all(type(item) is str for item in value):
            target.extend(value)
            return
        for index, item in enumerate(value):
            try:
                target.append(read(item))
            except WrongValue as error:
                faults.add(f"{path}[{index}]", error.code, str(error))

    return items


def _message_items(read: MessageReader | well_known.Reader) -> ItemsReader:
    def items(value: Any, path: str, faults: Faults, target: Any) -> None:
        for index, item in enumerate(value):
            read(item, f"{path}[{index}]", faults, target.add())

    return items


def rows_reader(read: MessageReader, faults_field: str) -> ItemsReader:
    """Returns what reads rows that are judged alone: what is wrong with one is noted in it."""

    def items(value: Any, path: str, faults: Faults, target: Any) -> None:
        own = Faults()
        for item in value:
            row = target.add()
            read(item, "", own, row)
            if own:
                noted = getattr(row, faults_field)
                for fault in own.found if type(item) is dict else ():
                    key = fault.field.partition("[")[0].partition(".")[0]
                    noted.add(field=key or fault.field or '""')
                if type(item) is not dict:
                    noted.add()
                own = Faults()

    return items


class _Keys:
    """Which keys an object of a message type may have."""

    def __init__(self, descriptor: Descriptor, fields: Collection[FieldDescriptor]) -> None:
        self.known = {field.json_name for field in fields}
        self._ignored = set(descriptor.GetOptions().Extensions[http_pb2.ignored_keys])
        self._aliases = {f.name: f.json_name for f in fields if f.name != f.json_name}

    def clean(self, value: dict[str, Any], path: str, faults: Faults) -> dict[str, Any]:
        """Returns the object under JSON names only, less what is ignored.

        ProtoJSON lets a field also go by its name in the proto. Unknown keys are faults.
        """
        clean = {}
        for key, item in value.items():
            name = self._aliases.get(key, key)
            if name not in self.known:
                if key not in self._ignored:
                    faults.add(join(path, key), "UNKNOWN_FIELD", "is not known")
            elif name in clean or (name != key and name in value):
                faults.add(join(path, name), "DUPLICATE_FIELD", "is given more than once")
            else:
                clean[name] = item
        return clean


def row_faults(descriptor: Descriptor) -> str | None:
    """Returns the name of the field in which faults of such a message are noted, or None."""
    return next((field.name for field in descriptor.fields if _is_row_faults(field)), None)


def _is_row_faults(field: FieldDescriptor) -> bool:
    return bool(field.GetOptions().Extensions[http_pb2.row_faults])


def _type_name(field: FieldDescriptor) -> str:
    """Returns the full name of the message type of a field; "" where it holds no message."""
    return field.message_type.full_name if field.message_type is not None else ""


def _check_supported(field: FieldDescriptor) -> None:
    kind = field.message_type
    if kind is None or kind.GetOptions().map_entry or kind.file.package == "google.protobuf":
        raise UnsupportedField(f"{field.full_name} has no JSON form here")


def _compile(lines: list[str], names: dict[str, Any], function: str) -> Any:
    scope = dict(names)
    exec("\n".join(lines), scope)  # noqa: S102 - the text is made of descriptors only
    return scope[function]


def message_class(descriptor: Descriptor) -> type[Message]:
    """Returns the class of a message type."""
    return message_factory.GetMessageClass(descriptor)
