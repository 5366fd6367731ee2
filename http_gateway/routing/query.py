"""Query parameters into the fields of a request, by google.api.http.

Every field that neither the path nor the body holds may come as a parameter, under
its JSON name or its name in the proto, a field of a message within under the names
on the way to it with dots between them: `filter.minSize=3`. A repeated field is given
by repeating the parameter. What no text can stand for, a repeated message, a map or
any JSON at all, is no parameter; neither is a message itself, but its fields are.

Any other parameter is reported as unknown.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..codec.scalars import InvalidValue
from ..codec.strict_json import MAX_DEPTH
from ..codec.url_values import TextReader, text_reader
from ..request_errors import Violations, validation_error
from .fields import Fields, by_name, is_plain, parts_of, put

# A parameter that is repeated counts each time.
MAX_PARAMETERS = 64


class _Parameter(NamedTuple):
    fields: Fields
    # The path of the field by the names of the proto.
    path: str
    read: TextReader
    # Whether the field is a scalar of the request itself, which nothing stands against.
    plain: bool


class QueryReader:
    """Reads the query of one binding.

    `excluded` names the fields that come from elsewhere, by the names of the proto.
    """

    def __init__(self, request: Descriptor, excluded: frozenset[str]) -> None:
        self._request = request
        self._excluded = excluded
        # Those without a dot, which nearly all are, are found at once.
        self._known = {
            name: parameter
            for name in by_name(request)
            if (parameter := self._find(name)) is not None
        }

    def read(self, query: str, message: Any) -> None:
        """Sets the fields that the query holds. Raises RequestError, a VALIDATION_ERROR."""
        violations = Violations()
        seen: set[str] = set()
        for name, value in _parameters(query, violations):
            parameter = self._known.get(name) or self._find(name)
            if parameter is None:
                violations.add(name, "UNKNOWN_FIELD", "is not a query parameter of this operation")
                continue
            fields, path, read, plain = parameter
            if path in seen and not fields[-1].is_repeated:
                violations.add(name, "DUPLICATE_FIELD", "is specified more than once")
                continue
            seen.add(path)
            try:
                if plain:
                    setattr(message, path, read(value))
                else:
                    put(message, fields, read(value))
            except InvalidValue as error:
                violations.add(name, error.code, str(error))
        if violations:
            raise validation_error(violations)

    def _find(self, name: str) -> _Parameter | None:
        """Returns the parameter of a name; None if there is none of it.

        Messages may hold themselves: how deep a name leads is bounded as in JSON.
        """
        names = name.split(".")
        if len(names) > MAX_DEPTH:
            return None
        message: Descriptor | None = self._request
        fields: list[FieldDescriptor] = []
        path = ""
        for part in names:
            field = by_name(message).get(part) if message is not None else None
            if field is None:
                return None
            fields.append(field)
            path = f"{path}.{field.name}" if path else field.name
            if path in self._excluded:
                return None
            message = parts_of(field)
        read = text_reader(fields[-1])
        return None if read is None else _Parameter(tuple(fields), path, read, is_plain(fields))


def _parameters(query: str, violations: Violations) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query, keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS
        )
    except UnicodeDecodeError:
        violations.add("", "INVALID_FORMAT", "the query string must be encoded in UTF-8")
    except ValueError:
        violations.add(
            "", "TOO_MANY", f"the query string must have at most {MAX_PARAMETERS} parameters"
        )
    return []
