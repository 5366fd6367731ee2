"""Checks messages against the bounds in the protobuf files, which are rules of buf.validate.

Only the rules in use are implemented, in the order and with the texts of protovalidate. That
library contains a second protobuf runtime, which takes 21 MB of memory in each process. A test
compares both.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from roster.buf.validate import validate_pb2

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
            if check is not None:
                found[field.index] = check(value)
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


def _check(field: FieldDescriptor, options: Any) -> Check | None:
    """Returns the check of a field that is set, or None if it has no bounds."""
    name, message = field.json_name, field.message_type
    rules, item_rules = _rules(field, options), []
    if options.repeated.items.ignore != validate_pb2.IGNORE_ALWAYS:
        item_rules = _rules(field, options.repeated.items)
        # Messages of google.protobuf have no bounds, and some are recursive.
        if message is not None and not message.full_name.startswith("google."):
            nested = bounds_of(message)
            if (nested.checks or nested.unset) and field.is_repeated:
                raise ValueError(f"{field.full_name} repeats a message with bounds.")
            if nested.checks or nested.unset:
                return lambda value: [
                    replace(fault, field=f"{name}.{fault.field}") for fault in nested.faults(value)
                ]
    if item_rules:
        return lambda values: [
            *_faults(name, values, rules),
            *(
                fault
                for index, value in enumerate(values)
                for fault in _faults(f"{name}[{index}]", value, item_rules)
            ),
        ]
    if rules or options.required:
        return lambda value: _faults(name, value, rules)
    return None


def _faults(path: str, value: Any, rules: list[Rule]) -> list[Detail]:
    return [Detail(path, rule.code, rule.message) for rule in rules if not rule.permits(value)]


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
                f"does not match regex pattern `{bound}`",
            )
        case "string.in":
            values = frozenset(bound)
            return Rule(
                values.__contains__, "INVALID_VALUE", f"must be in list [{', '.join(bound)}]"
            )
        case "repeated.min_items":
            return Rule(
                lambda values: len(values) >= bound,
                "TOO_FEW",
                f"must contain at least {bound} item(s)",
            )
        case "repeated.max_items":
            return Rule(
                lambda values: len(values) <= bound,
                "TOO_MANY",
                f"must contain no more than {bound} item(s)",
            )
        case "enum.defined_only":
            assert field.enum_type is not None
            return Rule(
                frozenset(field.enum_type.values_by_number).__contains__,
                "INVALID_VALUE",
                "value must be one of the defined enum values",
            )
        case "enum.not_in":
            return Rule(
                lambda value: value not in bound,
                "INVALID_VALUE",
                f"must not be in list [{', '.join(map(str, bound))}]",
            )
        case "int32.gte":
            return Rule(
                lambda value: value >= bound,
                "OUT_OF_RANGE",
                f"must be greater than or equal to {bound}",
            )
        case "double.gte_lte":
            low, high = bound
            return Rule(
                lambda value: low <= value <= high,
                "OUT_OF_RANGE",
                f"must be greater than or equal to {low:.17g} and less than or equal to"
                f" {high:.17g}",
            )
        case "timestamp.lt":
            return Rule(
                lambda value: value.ToNanoseconds() < bound.ToNanoseconds(),
                "OUT_OF_RANGE",
                f"must be less than {bound.ToJsonString()}",
            )
        case "timestamp.gt_now":
            return Rule(
                lambda value: value.ToNanoseconds() >= time.time_ns(),
                "OUT_OF_RANGE",
                "must be greater than now",
            )
    raise ValueError(f"{field.full_name} has the rule {name}, which is not implemented.")
