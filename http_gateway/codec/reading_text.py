"""Generates the source text of readers.

The text looks up each JSON name in the object and counts the names that are present. If the
object has more keys than that, `other_keys` reads the rest. The type of strings is checked
by protobuf, since nearly all are valid.

There are three kinds of functions: for one object, for each item of an array, and for rows,
which fail independently. They differ in the path of a violation, which is computed only if
there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from google.protobuf.descriptor import FieldDescriptor

from . import well_known
from .fields import assignment, field_expression, is_list, key_of, max_items, takes_null
from .options import CodecOptions

# Returns the expression for the JSON path of a key.
PathText = Callable[[str], str]

_NOT_AN_OBJECT = "'INVALID_TYPE', 'must be an object'"
_NOT_A_STRING = "'INVALID_TYPE', 'must be a string'"
# Up to this many strings are appended faster one by one than with one extend().
_MAX_APPENDED = 4
_ITEM = "f'{path}[{i}]'"


def _in_object(key: str) -> str:
    return f"f'{{path}}.' {key!r} if path else {key!r}"


def _in_item(key: str) -> str:
    return f"f'{{path}}[{{i}}].' {key!r}"


def object_text(
    fields: Collection[FieldDescriptor], options: CodecOptions, *, oneofs: bool
) -> list[str]:
    """Returns the text of a function that reads an object and returns it by JSON names."""
    return [
        "def read(o, path, violations, m):",
        "    if type(o) is not dict:",
        f"        violations.add(path, {_NOT_AN_OBJECT})",
        "        return {}",
        *_indented(_fields_lines(fields, options, "path", _in_object, oneofs=oneofs)),
        "    return o if n == len(o) else other_keys.read(o, path, violations, m, read)",
    ]


def items_text(
    fields: Collection[FieldDescriptor], options: CodecOptions, *, oneofs: bool
) -> list[str]:
    """Returns the text of a function that reads an array of objects."""
    return [
        "def read_items(values, path, violations, target):",
        "    add = target.add",
        "    for i, o in enumerate(values):",
        "        m = add()",
        "        if type(o) is not dict:",
        f"            violations.add({_ITEM}, {_NOT_AN_OBJECT})",
        "            continue",
        *_indented(_fields_lines(fields, options, _ITEM, _in_item, oneofs=oneofs), 2),
        f"        if n != len(o): other_keys.read(o, {_ITEM}, violations, m, read)",
    ]


def rows_text(
    fields: Collection[FieldDescriptor], options: CodecOptions, *, oneofs: bool
) -> list[str]:
    """Returns the text of a function that reads rows and stores the errors of each in it."""
    return [
        "def read_items(values, path, violations, target):",
        "    add, violations = target.add, Violations(suggests=False)",
        "    found = violations.details",
        "    for o in values:",
        "        m = add()",
        "        if type(o) is not dict:",
        "            read_invalid_row(read, o, m)",
        "            continue",
        *_indented(_fields_lines(fields, options, "''", repr, oneofs=oneofs), 2),
        "        if n != len(o): other_keys.read(o, '', violations, m, read)",
        "        if found:",
        "            add_row_errors(m, found, o)",
        "            found.clear()",
    ]


def extension_text(field: FieldDescriptor, options: CodecOptions) -> list[str]:
    """Returns the text of a function that reads the one key of an extension."""
    return [
        "def read(o, path, violations, m):",
        "    n = 0",
        *_indented(_lines(field, options, _in_object)),
    ]


def _fields_lines(
    fields: Collection[FieldDescriptor],
    options: CodecOptions,
    path: str,
    at: PathText,
    *,
    oneofs: bool,
) -> list[str]:
    lines = [f"if len(o) > 1: oneofs.check(o, {path}, violations)"] if oneofs else []
    lines.append(f"n = {len(fields)}")
    for field in fields:
        lines += _lines(field, options, at)
    return lines


def _lines(field: FieldDescriptor, options: CodecOptions, at: PathText) -> list[str]:
    """Returns the statements that read one field of the object `o` into the message `m`."""
    key = key_of(field)
    value = f"v = o[{key!r}]"
    if field.is_repeated:
        lines = [value, *_repeated_lines(field, at(key))]
    elif field.type == FieldDescriptor.TYPE_STRING:
        lines = _string_lines(field, key, at(key))
    elif field.message_type is not None and well_known.filler(field.message_type) is None:
        lines = [value, *_message_lines(field, at(key))]
    else:
        lines = [value, *_scalar_lines(field, options, at(key))]
    return [f"if {key!r} in o:", *_indented(lines), "else: n -= 1"]


def _repeated_lines(field: FieldDescriptor, path: str) -> list[str]:
    target, read = field_expression(field), f"r{field.number}"
    rest = ["if v is not None:", f"    {read}(v, {path}, violations, {target})"]
    if field.type != FieldDescriptor.TYPE_STRING:
        return rest
    most = max_items(field)
    return [
        f"if type(v) is list and len(v) <= {most}:" if most else "if type(v) is list:",
        f"    t = {target}",
        "    try:",
        f"        if len(v) > {_MAX_APPENDED}: t.extend(v)",
        "        else:",
        "            for x in v: t.append(x)",
        "    except TypeError: del t[:]",
        "    else: v = None",
        *rest,
    ]


def _string_lines(field: FieldDescriptor, key: str, path: str) -> list[str]:
    return [
        f"try: {assignment(field, f'o[{key!r}]')}",
        "except TypeError:",
        f"    if o[{key!r}] is not None: violations.add({path}, {_NOT_A_STRING})",
    ]


def _message_lines(field: FieldDescriptor, path: str) -> list[str]:
    lines = [f"t = {field_expression(field)}", "t.SetInParent()"]
    read = f"r{field.number}(v, {path}, violations, t)"
    if takes_null(field):
        return [*lines, read]
    # An empty object, the most common one, needs no call.
    lines.append(read if is_list(field) else f"if v or type(v) is not dict: {read}")
    return ["if v is not None:", *_indented(lines)]


def _scalar_lines(field: FieldDescriptor, options: CodecOptions, path: str) -> list[str]:
    read = f"r{field.number}"
    filled = field.message_type is not None
    store = f"{read}(v, {field_expression(field)})" if filled else assignment(field, f"{read}(v)")
    lines = [f"try: {store}"]
    if options.ignore_unknown and field.enum_type is not None:
        lines.append("except UnknownEnumName: pass")
    lines.append(f"except InvalidValue as e: violations.add({path}, e.code, str(e))")
    if takes_null(field):
        return lines
    if field.enum_type is not None:
        head = [f"if type(v) is str and v in n{field.number}:"]
        head += [f"    {assignment(field, f'n{field.number}[v]')}", "elif v is not None:"]
        return [*head, *_indented(lines)]
    if field.type == FieldDescriptor.TYPE_BOOL:
        head = [f"if v is True or v is False: {assignment(field, 'v')}", "elif v is not None:"]
        return [*head, *_indented(lines)]
    return ["if v is not None:", *_indented(lines)]


def _indented(lines: list[str], levels: int = 1) -> list[str]:
    return ["    " * levels + line for line in lines]
