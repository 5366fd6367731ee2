"""Reads the options of http.proto from descriptors, as the gateway needs them."""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Any

from roster.v1 import http_pb2
from rosterd.http_gateway.policy import Deprecation, FieldOptions


def own_options(options: Any) -> dict[str, Any]:
    """Returns the options of http.proto that are set."""
    return {
        option.name: value
        for option, value in options.ListFields()
        if option.is_extension and option.file.name == http_pb2.DESCRIPTOR.name
    }


@cache
def field_options(field: Any) -> FieldOptions:
    options = own_options(field.GetOptions())
    dates = dates_of(options.pop("field_deprecation", None))
    return FieldOptions(**options, field_deprecation=dates)


def dates_of(option: http_pb2.Deprecation | None) -> Deprecation | None:
    if option is None:
        return None
    sunset = date.fromisoformat(option.sunset) if option.sunset else None
    return Deprecation(date.fromisoformat(option.since), sunset)
