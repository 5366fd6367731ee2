"""Checks the keys of a JSON object: unknown, duplicate and mutually exclusive ones.

Compiled readers read the JSON names of fields themselves. They pass all other keys to
this module: proto field names, extensions, ignored keys and unknown keys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..request_errors import Violations, join
from .fields import takes_null
from .options import CodecOptions

MessageReader = Callable[[Any, str, Violations, Any], dict[str, Any]]


class OtherKeys:
    """Reads the keys of an object that are not the JSON names of fields.

    `extension` returns the reader of an object with one extension key, or None.
    """

    def __init__(
        self,
        descriptor: Descriptor,
        fields: Collection[FieldDescriptor],
        options: CodecOptions,
        ignored_keys: Collection[str],
        extension: Callable[[str], MessageReader | None],
        did_you_mean: Callable[[str, Collection[str]], str],
    ) -> None:
        self._known = {field.json_name for field in fields}
        self._aliases = {f.name: f.json_name for f in fields if f.name not in self._known}
        self._ignored = frozenset(ignored_keys)
        self._ignores_all = options.ignore_unknown
        self._did_you_mean = did_you_mean
        self._extension = extension if descriptor.is_extendable else None

    def read(
        self,
        value: dict[str, Any],
        path: str,
        violations: Violations,
        message: Any,
        read: MessageReader,
    ) -> dict[str, Any]:
        """Returns the object by JSON names only, without ignored keys.

        Keys that are proto field names are read with `read`, one at a time.
        """
        clean = {key: item for key, item in value.items() if key in self._known}
        for key, item in value.items():
            if key in self._known:
                continue
            name = self._aliases.get(key)
            if name is None:
                self._read_unknown(key, item, path, violations, message)
            elif name in clean:
                violations.add(join(path, name), "DUPLICATE_FIELD", "is specified more than once")
            else:
                clean[name] = item
                read({name: item}, path, violations, message)
        return clean

    def _read_unknown(
        self, key: str, item: Any, path: str, violations: Violations, message: Any
    ) -> None:
        if self._extension and key.startswith("[") and (read := self._extension(key)):
            read({key: item}, path, violations, message)
        elif not self._ignores_all and key not in self._ignored:
            suggestion = partial(self._did_you_mean, key, self._known)
            violations.add_unknown(join(path, key), "is not a known field", suggestion)


class OneofChecker:
    """Finds fields of the same oneof in an object. False if the message has no oneof."""

    def __init__(self, fields: Collection[FieldDescriptor]) -> None:
        self._groups: dict[str, tuple[str, FieldDescriptor]] = {}
        for field in fields:
            group = field.containing_oneof
            if group is not None and len(group.fields) > 1:
                self._groups[field.name] = self._groups[field.json_name] = (group.name, field)

    def __bool__(self) -> bool:
        return bool(self._groups)

    def check(self, value: dict[str, Any], path: str, violations: Violations) -> None:
        """Adds a violation for each field that follows another field of its oneof."""
        first: dict[str, FieldDescriptor] = {}
        for key, item in value.items():
            group, field = self._groups.get(key, ("", None))
            if field is None or (item is None and not takes_null(field)):
                continue
            other = first.setdefault(group, field)
            if other is not field:
                message = f"cannot be set together with {other.json_name}"
                violations.add(join(path, field.json_name), "INVALID_VALUE", message)
