"""Reads HTML forms into requests: application/x-www-form-urlencoded, with the option `form`."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.struct_pb2 import Struct

from ..policy import Annotations, FormOptions
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

    def __init__(
        self,
        method: MethodDescriptor,
        excluded: frozenset[str],
        annotations: Annotations,
        options: FormOptions,
    ) -> None:
        super().__init__(method.input_type, excluded, annotations)
        self.key, self.redirect = options
        # The response field with the page that is shown after a success; None if there is none.
        pages = (f for f in method.output_type.fields if annotations.of_field(f).form_page)
        self.page = next((f.name for f in pages if is_http_body(f.message_type)), None)

    def read(self, query: str, message: Any) -> None:
        violations = Violations()
        if _BAD_ESCAPE.search(query):
            violations.add("", "INVALID_FORMAT", "the form has an invalid percent-encoding")
        pairs = parse_pairs(query, violations, "form", "fields")
        fields = [pair for pair in pairs if pair[0] not in (self.key, self.redirect)]
        self.fill(message, [pair for pair in fields if pair[1]], violations, _UNKNOWN)
        if violations:
            raise validation_error(violations)

    def values(self, text: str, *names: str) -> list[list[str]]:
        """Returns the values of each named field. The form may be invalid."""
        try:
            pairs = parse_qsl(text, errors="replace", max_num_fields=MAX_PARAMETERS)
        except ValueError:
            pairs = []
        return [[value for key, value in pairs if key == name] for name in names]

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


def form_reader(
    method: MethodDescriptor, body: str, excluded: frozenset[str], annotations: Annotations
) -> FormReader | None:
    """Returns the reader of the forms of an rpc; None if it takes none. Raises BindingError."""
    options = annotations.of_method(method).form
    if options is None:
        return None
    if body != WHOLE or method.client_streaming or method.server_streaming:
        raise BindingError("form requires a unary method and the body *")
    return FormReader(method, excluded, annotations, options)
