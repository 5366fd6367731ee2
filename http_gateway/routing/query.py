"""Reads query parameters into the fields of a request, by google.api.http.

Every field that is set by neither the path nor the body is a parameter, by its JSON or proto
name. Nested fields have dotted names: `filter.minSize=3`. Repeated fields are repeated
parameters. Messages themselves, repeated messages and maps are not parameters. Unknown
parameters are rejected, except those of pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..codec.scalars import InvalidValue
from ..codec.strict_json import MAX_DEPTH
from ..codec.url_values import TextReader, text_reader
from ..policy import NO_ANNOTATIONS, Annotations
from ..request_errors import Violations, validation_error
from .fields import Fields, fields_by_any_name, is_plain, nested_type, put

# Each repetition of a parameter counts.
MAX_PARAMETERS = 64


class Parameter(NamedTuple):
    fields: Fields
    # The path of the field by proto names.
    path: str
    read: TextReader
    # Whether setattr on the request can set the field.
    is_plain: bool


class QueryReader:
    """Reads the query of one binding.

    `excluded` has the paths of fields that are not parameters, by proto names. If it
    `ignores_unknown` parameters, they are not rejected.
    """

    def __init__(
        self,
        request: Descriptor,
        excluded: frozenset[str],
        annotations: Annotations = NO_ANNOTATIONS,
        *,
        ignores_unknown: bool = False,
    ) -> None:
        self._request = request
        self._excluded = excluded
        self._annotations = annotations
        self._ignores_unknown = ignores_unknown
        # Parameters without a dot, the most common ones, are resolved in advance.
        self._top_level = {
            name: parameter
            for name in fields_by_any_name(request)
            if (parameter := self._find(name)) is not None
        }
        self._json_names = [
            field.json_name for field in request.fields if field.json_name in self._top_level
        ]

    def read(self, query: str, message: Any) -> None:
        """Sets the fields in the query. Raises RequestError, a VALIDATION_ERROR."""
        if self._ignores_unknown and not self._top_level:
            return
        violations = Violations()
        pairs = parse_pairs(query, violations, "query string", "parameters")
        self.fill(message, pairs, violations, "is not a query parameter of this operation")
        if violations:
            raise validation_error(violations)

    def fill(
        self, message: Any, pairs: Iterable[tuple[str, str]], violations: Violations, unknown: str
    ) -> None:
        """Sets fields to texts. `unknown` is the message for a name that is not a field."""
        seen: set[str] = set()
        for name, value in pairs:
            parameter = self._top_level.get(name) or self._find(name)
            if parameter is None:
                if self._ignores_unknown:
                    continue
                suggestion = partial(self._annotations.did_you_mean, name, self._json_names)
                violations.add_unknown(name, unknown, suggestion)
                continue
            fields, path, read, settable = parameter
            if path in seen and not fields[-1].is_repeated:
                violations.add(name, "DUPLICATE_FIELD", "is specified more than once")
                continue
            seen.add(path)
            try:
                if settable:
                    setattr(message, path, read(value))
                else:
                    put(message, fields, read(value))
            except InvalidValue as error:
                violations.add(name, error.code, str(error))

    def _find(self, name: str) -> Parameter | None:
        """Returns the parameter with this name, or None.

        The depth is limited as in JSON, because message types can be recursive.
        """
        names = name.split(".")
        if len(names) > MAX_DEPTH:
            return None
        message: Descriptor | None = self._request
        fields: list[FieldDescriptor] = []
        path = ""
        for part in names:
            field = fields_by_any_name(message).get(part) if message is not None else None
            if field is None:
                return None
            fields.append(field)
            path = f"{path}.{field.name}" if path else field.name
            if path in self._excluded:
                return None
            message = nested_type(field)
        any_case = self._annotations.of_field(fields[-1]).any_case
        read = text_reader(fields[-1], any_case=any_case)
        return None if read is None else Parameter(tuple(fields), path, read, is_plain(fields))


def parse_pairs(text: str, violations: Violations, whole: str, parts: str) -> list[tuple[str, str]]:
    """Returns the decoded names and values of a query or form. `whole` and `parts` name it."""
    try:
        return parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS
        )
    except UnicodeDecodeError:
        violations.add("", "INVALID_FORMAT", f"the {whole} must be encoded in UTF-8")
    except ValueError:
        violations.add("", "TOO_MANY", f"the {whole} must have at most {MAX_PARAMETERS} {parts}")
    return []
