"""The source text of readers, which names every field of a message type.

The text asks an object for each JSON name in turn and counts down where there is none: an
object that has more keys than are left holds some of another kind, which `keys` looks at. Of
strings it lets protobuf itself find out that they are none, since nearly all are.

Fields are read in three places: in an object by itself, in each item of an array, and
in rows, which are judged alone. The places differ in how violations are named there, which
is worked out only for a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from google.protobuf.descriptor import FieldDescriptor

from . import well_known
from .fields import assignment_text, field_expression, is_list, key_of, max_items, takes_null
from .style import Style

# Returns the text that makes the JSON path of a key.
PathText = Callable[[str], str]

_NO_OBJECT = "'INVALID_TYPE', 'must be an object'"
_NO_STRING = "'INVALID_TYPE', 'must be a string'"
# Up to as many strings are added one by one faster than all at once.
_FEW = 4
_ITEM = "f'{path}[{i}]'"


def _in_object(key: str) -> str:
    return f"f'{{path}}.' {key!r} if path else {key!r}"


def _in_item(key: str) -> str:
    return f"f'{{path}}[{{i}}].' {key!r}"


def object_text(fields: Collection[FieldDescriptor], style: Style, *, oneofs: bool) -> list[str]:
    """Returns the text of a function that reads an object, and returns it under JSON names."""
    return [
        "def read(o, path, violations, m):",
        "    if type(o) is not dict:",
        f"        violations.add(path, {_NO_OBJECT})",
        "        return {}",
        *_indented(_fields_lines(fields, style, "path", _in_object, oneofs=oneofs)),
        "    return o if n == len(o) else keys.read_others(o, path, violations, m, read)",
    ]


def items_text(fields: Collection[FieldDescriptor], style: Style, *, oneofs: bool) -> list[str]:
    """Returns the text of a function that reads the objects of an array, each into an item."""
    return [
        "def read_items(values, path, violations, target):",
        "    add = target.add",
        "    for i, o in enumerate(values):",
        "        m = add()",
        "        if type(o) is not dict:",
        f"            violations.add({_ITEM}, {_NO_OBJECT})",
        "            continue",
        *_indented(_fields_lines(fields, style, _ITEM, _in_item, oneofs=oneofs), 2),
        f"        if n != len(o): keys.read_others(o, {_ITEM}, violations, m, read)",
    ]


def rows_text(fields: Collection[FieldDescriptor], style: Style, *, oneofs: bool) -> list[str]:
    """Returns the text of a function that reads rows, and notes in each what is wrong with it."""
    return [
        "def read_items(values, path, violations, target):",
        "    add, violations = target.add, Violations()",
        "    found = violations.found",
        "    for o in values:",
        "        m = add()",
        "        if type(o) is not dict:",
        "            note(m, ())",
        "            continue",
        *_indented(_fields_lines(fields, style, "''", repr, oneofs=oneofs), 2),
        "        if n != len(o): keys.read_others(o, '', violations, m, read)",
        "        if found:",
        "            note(m, found)",
        "            found.clear()",
    ]


def extension_text(field: FieldDescriptor, style: Style) -> list[str]:
    """Returns the text of a function that reads the key of an extension."""
    return [
        "def read(o, path, violations, m):",
        "    n = 0",
        *_indented(_lines(field, style, _in_object)),
    ]


def _fields_lines(
    fields: Collection[FieldDescriptor], style: Style, path: str, at: PathText, *, oneofs: bool
) -> list[str]:
    lines = [f"if len(o) > 1: oneofs.check(o, {path}, violations)"] if oneofs else []
    lines.append(f"n = {len(fields)}")
    for field in fields:
        lines += _lines(field, style, at)
    return lines


def _lines(field: FieldDescriptor, style: Style, at: PathText) -> list[str]:
    """Returns the text that reads one field of the object `o` into the message `m`."""
    key = key_of(field)
    value = f"v = o[{key!r}]"
    if field.is_repeated:
        lines = [value, *_repeated_lines(field, at(key))]
    elif field.type == FieldDescriptor.TYPE_STRING:
        lines = _string_lines(field, key, at(key))
    elif field.message_type is not None and well_known.filler(field.message_type) is None:
        lines = [value, *_message_lines(field, at(key))]
    else:
        lines = [value, *_scalar_lines(field, style, at(key))]
    return [f"if {key!r} in o:", *_indented(lines), "else: n -= 1"]


def _repeated_lines(field: FieldDescriptor, path: str) -> list[str]:
    place, read = field_expression(field), f"r{field.number}"
    rest = ["if v is not None:", f"    {read}(v, {path}, violations, {place})"]
    if field.type != FieldDescriptor.TYPE_STRING:
        return rest
    most = max_items(field)
    return [
        f"if type(v) is list and len(v) <= {most}:" if most else "if type(v) is list:",
        f"    t = {place}",
        "    try:",
        f"        if len(v) > {_FEW}: t.extend(v)",
        "        else:",
        "            for x in v: t.append(x)",
        "    except TypeError: del t[:]",
        "    else: v = None",
        *rest,
    ]


def _string_lines(field: FieldDescriptor, key: str, path: str) -> list[str]:
    return [
        f"try: {assignment_text(field, f'o[{key!r}]')}",
        "except TypeError:",
        f"    if o[{key!r}] is not None: violations.add({path}, {_NO_STRING})",
    ]


def _message_lines(field: FieldDescriptor, path: str) -> list[str]:
    lines = [f"t = {field_expression(field)}", "t.SetInParent()"]
    read = f"r{field.number}(v, {path}, violations, t)"
    if takes_null(field):
        return [*lines, read]
    # Most often there is nothing to read, where there is an object at all.
    lines.append(read if is_list(field) else f"if v or type(v) is not dict: {read}")
    return ["if v is not None:", *_indented(lines)]


def _scalar_lines(field: FieldDescriptor, style: Style, path: str) -> list[str]:
    read = f"r{field.number}"
    filled = field.message_type is not None
    store = (
        f"{read}(v, {field_expression(field)})" if filled else assignment_text(field, f"{read}(v)")
    )
    lines = [f"try: {store}"]
    if style.ignore_unknown and field.enum_type is not None:
        lines.append("except UnknownName: pass")
    lines.append(f"except InvalidValue as e: violations.add({path}, e.code, str(e))")
    if takes_null(field):
        return lines
    if field.enum_type is not None:
        head = [f"if type(v) is str and v in n{field.number}:"]
        head += [f"    {assignment_text(field, f'n{field.number}[v]')}", "elif v is not None:"]
        return [*head, *_indented(lines)]
    if field.type == FieldDescriptor.TYPE_BOOL:
        head = [f"if v is True or v is False: {assignment_text(field, 'v')}", "elif v is not None:"]
        return [*head, *_indented(lines)]
    return ["if v is not None:", *_indented(lines)]


def _indented(lines: list[str], levels: int = 1) -> list[str]:
    return ["    " * levels + line for line in lines]
