"""Reads the comments of proto declarations.

Descriptors loaded at run time have no comments, so they are read from those of the policy.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from functools import cache
from typing import Any

from google.protobuf.descriptor import (
    EnumDescriptor,
    EnumValueDescriptor,
    FieldDescriptor,
    FileDescriptor,
    MethodDescriptor,
)
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from ..errors import errors_without_reason
from ..policy import Policy
from ..request_errors import error_code_of
from .values import names

# The descriptor fields with nested declarations, by field number.
_DECLARATIONS = {
    "file": {4: "message_type", 5: "enum_type", 6: "service"},
    "message": {2: "field", 3: "nested_type", 4: "enum_type"},
    "enum": {2: "value"},
    "service": {2: "method"},
}
_KINDS = {"message_type": "message", "nested_type": "message", "enum_type": "enum"}
_CONSTANT = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")
# A field name that differs from its JSON name, or code, in which names are kept.
_FIELD = re.compile(r"`[^`]*`|\b[a-z0-9]+(?:_[a-z0-9]+)+\b")
_BOOLEAN_LIKE = (
    "In addition to `true` and `false`, a body can contain `1`, `0`, or one of the strings"
    " `true`, `false`, `yes`, `no`, `1` or `0`, case-insensitively."
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def comment(declaration: Any, policy: Policy) -> str:
    """Returns the comment of a descriptor in paragraphs.

    Reasons are replaced by error codes, and the names of fields of the file and of those that it
    imports by their JSON names.
    """
    if isinstance(declaration, EnumValueDescriptor):
        name, file = f"{declaration.type.full_name}.{declaration.name}", declaration.type.file
    elif isinstance(declaration, MethodDescriptor):
        name, file = declaration.full_name, declaration.containing_service.file
    else:
        name, file = declaration.full_name, declaration.file
    names, text = _json_names(file), _comments(policy).get(name, "")
    return _FIELD.sub(lambda match: names.get(match[0], match[0]), text)


def meanings(enum: EnumDescriptor, policy: Policy) -> str:
    """Returns a Markdown list of an enum's values and their comments."""
    values = [value for value in enum.values if value.number]
    comments = [comment(value, policy) for value in values]
    comments = [
        f"Deprecated. {text}".rstrip() if value.GetOptions().deprecated else text
        for value, text in zip(values, comments, strict=True)
    ]
    texts = dict(zip(names(enum, policy.errors), comments, strict=True))
    if enum is policy.errors.reasons:
        texts |= {error.code: error.message for error in errors_without_reason(policy.errors)}
    return "\n".join(f"- `{name}`: {text}" for name, text in texts.items() if text)


def described(field: FieldDescriptor, policy: Policy) -> str:
    """Returns the comment of a field, followed by the forms and meanings of its values."""
    values = meanings(field.enum_type, policy) if field.enum_type is not None else ""
    forms = _BOOLEAN_LIKE if policy.annotations.of_field(field).boolean_like else ""
    return "\n\n".join(filter(None, [comment(field, policy), forms, values]))


@cache
def _json_names(file: FileDescriptor) -> dict[str, str]:
    """Returns the JSON names of the fields of a file and of its imports by their names."""
    files = [*file.dependencies, file]
    messages = [each for one in files for each in one.message_types_by_name.values()]
    for message in messages:
        messages += message.nested_types
    return {field.name: field.json_name for message in messages for field in message.fields}


def sentences(text: str) -> list[str]:
    """Returns the sentences of the first paragraph of a comment."""
    return _SENTENCE.split(text.partition("\n\n")[0])


@cache
def _comments(policy: Policy) -> dict[str, str]:
    """Returns every comment by the full name of its declaration."""
    comments: dict[str, str] = {}
    reasons = policy.errors.statuses
    for file in FileDescriptorSet.FromString(policy.descriptors()).file:
        names = dict(_names(file, file.package, "file", ()))
        for location in file.source_code_info.location:
            name = names.get(tuple(location.path))
            if name is not None and location.leading_comments:
                comments[name] = _text(location.leading_comments, reasons)
    return comments


def _names(
    declaration: Any, name: str, kind: str, path: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yields the source location path and full name of each nested declaration."""
    for number, field in _DECLARATIONS.get(kind, {}).items():
        for index, inner in enumerate(getattr(declaration, field)):
            inner_path, full_name = (*path, number, index), f"{name}.{inner.name}"
            yield inner_path, full_name
            yield from _names(inner, full_name, _KINDS.get(field, field), inner_path)


def _text(comment: str, reasons: Container[str]) -> str:
    paragraphs = re.split(r"\n\s*\n", comment.strip())
    joined = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    return _CONSTANT.sub(lambda m: error_code_of(m[0]) if m[0] in reasons else m[0], joined)
