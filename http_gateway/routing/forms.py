"""Reads HTML forms into requests: application/x-www-form-urlencoded, with the option `form`."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.struct_pb2 import Struct

from roster.v1 import http_pb2

from ..request_errors import Violations, validation_error
from .bodies import WHOLE, is_http_body
from .fields import fields_by_any_name, is_struct
from .query import MAX_PARAMETERS, Parameter, QueryReader, parse_pairs
from .templates import BindingError

_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_UNKNOWN = "is not a field of this form"


class FormReader(QueryReader):
    """Reads the fields of a form as those of a query. Members of a Struct are text.

    An empty field is absent, because browsers submit every field of a form.
    """

    def __init__(self, method: MethodDescriptor, excluded: frozenset[str]) -> None:
        super().__init__(method.input_type, excluded)
        options = method.GetOptions().Extensions[http_pb2.form]
        self.key: str = options.key
        self.redirect: str = options.redirect
        # The response field with the page that is shown after a success; None if there is none.
        self.page = next(
            (field.name for field in method.output_type.fields if _is_page(field)), None
        )

    def read(self, query: str, message: Any) -> None:
        violations = Violations()
        if _BAD_ESCAPE.search(query):
            violations.add("", "INVALID_FORMAT", "the form has an invalid percent-encoding")
        pairs = parse_pairs(query, violations, "form", "fields")
        fields = [pair for pair in pairs if pair[0] not in (self.key, self.redirect)]
        self.fill(message, [pair for pair in fields if pair[1]], violations, _UNKNOWN)
        if violations:
            raise validation_error(violations)

    def values(self, text: str, name: str) -> list[str]:
        """Returns the values of a field. The form may be invalid."""
        try:
            pairs = parse_qsl(text, errors="replace", max_num_fields=MAX_PARAMETERS)
        except ValueError:
            return []
        return [value for key, value in pairs if key == name]

    def _find(self, name: str) -> Parameter | None:
        head, _, key = name.partition(".")
        field = fields_by_any_name(self._request).get(head)
        if not key or field is None or not is_struct(field) or field.name in self._excluded:
            return super()._find(name)

        def read(text: str) -> Struct:
            member = Struct()
            member.fields[key].string_value = text
            return member

        return Parameter((field,), f"{field.name}.{key}", read, is_plain=False)


def form_reader(method: MethodDescriptor, body: str, excluded: frozenset[str]) -> FormReader | None:
    """Returns the reader of the forms of an rpc; None if it takes none. Raises BindingError."""
    if not method.GetOptions().HasExtension(http_pb2.form):
        return None
    if body != WHOLE or method.client_streaming or method.server_streaming:
        raise BindingError("form requires a unary method and the body *")
    return FormReader(method, excluded)


def _is_page(field: Any) -> bool:
    return bool(field.GetOptions().Extensions[http_pb2.form_page]) and is_http_body(
        field.message_type
    )
