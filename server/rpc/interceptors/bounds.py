"""Checks messages against the bounds in the protobuf files, which are rules of buf.validate.

Only the rules in use are implemented, in the order of protovalidate. That library contains a
second protobuf runtime, which takes 21 MB of memory in each process. A test compares the faults of
both. The texts are for people, who do not know the rules: they name the valid values.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from roster.buf.validate import validate_pb2
from roster.v1 import http_pb2

from ..errors import Detail

Check = Callable[[Any], list[Detail]]


class Rule(NamedTuple):
    """A rule of a value, and the detail code and message of the values that violate it."""

    permits: Callable[[Any], bool]
    code: str
    message: str


class Bounds(NamedTuple):
    """The bounds of a message type, by the index of the field.

    `checks` return the faults of a field that is set, `unset` has those of a field that is not.
    """

    checks: Mapping[int, Check]
    unset: Mapping[int, list[Detail]]

    def faults(self, message: Any) -> list[Detail]:
        """Returns the faults of a message in the order of its fields."""
        found = dict(self.unset)
        for field, value in message.ListFields():
            check = self.checks.get(field.index)
            if check is None:
                continue
            faults = check(value)
            if faults:
                found[field.index] = faults
            elif found:
                found.pop(field.index, None)
        return [fault for index in sorted(found) for fault in found[index]] if found else []


@cache
def bounds_of(message: Descriptor) -> Bounds:
    """Returns the bounds of a message type. Raises ValueError for a rule without implementation."""
    checks: dict[int, Check] = {}
    unset: dict[int, list[Detail]] = {}
    for field in message.fields:
        options = field.GetOptions().Extensions[validate_pb2.field]
        check = _check(field, options)
        if check is not None:
            checks[field.index] = check
        if options.required:
            unset[field.index] = [Detail(field.json_name, "REQUIRED", "is required")]
        elif check is not None and not field.has_presence:
            unset[field.index] = check([] if field.is_repeated else field.default_value)
    return Bounds(checks, {index: faults for index, faults in unset.items() if faults})


def has_independent_items(field: FieldDescriptor) -> bool:
    """Whether an invalid item fails alone, so that only the service checks the items."""
    items = field.GetOptions().Extensions[validate_pb2.field].repeated.items
    return bool(items.ignore == validate_pb2.IGNORE_ALWAYS)


def _check(field: FieldDescriptor, options: Any) -> Check | None:
    """Returns the check of a field that is set, or None if it has no bounds."""
    name, message = field.json_name, field.message_type
    rules, item_rules = _rules(field, options), []
    if not has_independent_items(field):
        item_rules = _rules(field, options.repeated.items)
        # Messages of google.protobuf have no bounds, and some are recursive.
        if message is not None and not message.full_name.startswith("google."):
            nested = bounds_of(message)
            if (nested.checks or nested.unset) and field.is_repeated:
                return lambda values: [
                    *_faults(name, rules, values),
                    *(
                        fault
                        for index, value in enumerate(values)
                        for fault in _nested(f"{name}[{index}]", nested.faults(value))
                    ),
                ]
            if nested.checks or nested.unset:
                return lambda value: _nested(name, nested.faults(value))
    if item_rules:
        return lambda values: [
            *_faults(name, rules, values),
            *(
                fault
                for index, value in enumerate(values)
                for fault in _faults(f"{name}[{index}]", item_rules, value)
            ),
        ]
    if rules or options.required:
        return partial(_faults, name, rules)
    return None


def _faults(path: str, rules: list[Rule], value: Any) -> list[Detail]:
    faults = []
    for rule in rules:
        if not rule.permits(value):
            faults.append(Detail(path, rule.code, rule.message))
    return faults


def _nested(path: str, faults: Iterable[Detail]) -> list[Detail]:
    """Returns the faults of a message with their paths in the message around it."""
    return [replace(fault, field=f"{path}.{fault.field}") for fault in faults]


def _rules(field: FieldDescriptor, options: Any) -> list[Rule]:
    kind = options.WhichOneof("type")
    if kind is None:
        return []
    declared = {rule.name: bound for rule, bound in getattr(options, kind).ListFields()}
    declared.pop("items", None)
    if "gte" in declared and "lte" in declared:
        declared["gte_lte"] = declared.pop("gte"), declared.pop("lte")
    return [_rule(f"{kind}.{name}", bound, field) for name, bound in declared.items()]


def _rule(name: str, bound: Any, field: FieldDescriptor) -> Rule:
    match name:
        case "string.min_len":
            return Rule(lambda value: len(value) >= bound, "REQUIRED", "is required")
        case "string.max_len" | "bytes.max_len":
            unit = "bytes" if name.startswith("bytes") else "characters"
            return Rule(
                lambda value: len(value) <= bound, "TOO_LONG", f"must be at most {bound} {unit}"
            )
        case "string.pattern":
            pattern = re.compile(bound.removesuffix("$") + r"\Z")
            return Rule(
                lambda value: pattern.search(value) is not None,
                "INVALID_FORMAT",
                _form(field),
            )
        case "string.in":
            return Rule(frozenset(bound).__contains__, "INVALID_VALUE", _one_of(bound))
        case "repeated.min_items":
            return Rule(
                lambda values: len(values) >= bound,
                "TOO_FEW",
                f"must contain at least {_items(bound)}",
            )
        case "repeated.max_items":
            return Rule(
                lambda values: len(values) <= bound,
                "TOO_MANY",
                f"must contain at most {_items(bound)}",
            )
        case "enum.defined_only":
            assert field.enum_type is not None
            numbers = frozenset(field.enum_type.values_by_number)
            return Rule(numbers.__contains__, "INVALID_VALUE", _one_of(_names(field)))
        case "enum.not_in":
            return Rule(
                lambda value: value not in bound,
                "INVALID_VALUE",
                _one_of(_names(field, excluded=bound)),
            )
        case "int32.gte":
            # Without presence, 0 is an absent field, which has a default.
            has_default = bound == 0 and not field.has_presence
            least = "1, or 0 for the default" if has_default else str(bound)
            return Rule(lambda value: value >= bound, "OUT_OF_RANGE", f"must be at least {least}")
        case "double.gte_lte" | "int32.gte_lte":
            low, high = bound
            return Rule(
                lambda value: low <= value <= high,
                "OUT_OF_RANGE",
                f"must be between {low:.17g} and {high:.17g}",
            )
        case "timestamp.lt":
            return Rule(
                lambda value: value.ToNanoseconds() < bound.ToNanoseconds(),
                "OUT_OF_RANGE",
                f"must be earlier than {bound.ToJsonString()}",
            )
        case "timestamp.gt_now":
            return Rule(
                lambda value: value.ToNanoseconds() >= time.time_ns(),
                "OUT_OF_RANGE",
                "must be in the future",
            )
    raise ValueError(f"{field.full_name} has the rule {name}, which is not implemented.")


def _form(field: FieldDescriptor) -> str:
    options = field.GetOptions().Extensions
    if options[http_pb2.header] == "If-Match":
        return "must be one or more entity tags in double quotes, separated by commas, or *"
    if not options[http_pb2.example]:
        raise ValueError(f"{field.full_name} has a pattern and no example, which the error names.")
    return f"must be written like {options[http_pb2.example]}"


def _items(count: int) -> str:
    return "one item" if count == 1 else f"{count} items"


def _names(field: FieldDescriptor, excluded: Collection[int] = ()) -> list[str]:
    """Returns the names of an enum's values. 0 is an absent field."""
    assert field.enum_type is not None
    return [value.name for value in field.enum_type.values if value.number not in {0, *excluded}]


def _one_of(values: Iterable[str]) -> str:
    return f"must be one of {', '.join(filter(None, values))}"
