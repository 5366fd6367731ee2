"""FieldMask between JSON and protobuf: paths in camel case, with commas between them."""

from __future__ import annotations

import re
from string import ascii_uppercase
from typing import Any

from .scalars import InvalidValue, NoJsonForm

_SNAKE_CASE = str.maketrans({capital: f"_{capital.lower()}" for capital in ascii_uppercase})
_SMALL_AFTER_UNDERSCORE = re.compile("_([a-z])")
# What would be read again as another path: capitals, an underscore before anything
# but a small letter, and the comma.
_NOT_REVERSIBLE = re.compile("[A-Z,]|_(?![a-z])")


def fill_mask(value: Any, target: Any) -> None:
    """Takes names of fields in camel case, separated by commas. Raises InvalidValue."""
    if type(value) is not str:
        raise InvalidValue("must be a string of comma-separated field names")
    paths = value.split(",") if value else []
    if "_" in value or not all(paths):
        message = "must be comma-separated field names in lowerCamelCase"
        raise InvalidValue(message, "INVALID_FORMAT")
    target.SetInParent()
    target.paths.extend([path.translate(_SNAKE_CASE) for path in paths])


def write_mask(mask: Any) -> str:
    """Writes the paths in camel case. Raises NoJsonForm for one that would be read as another."""
    for path in mask.paths:
        if not path or _NOT_REVERSIBLE.search(path):
            raise NoJsonForm(f"the path {path!r} of a google.protobuf.FieldMask has no JSON form")
    return ",".join(
        [_SMALL_AFTER_UNDERSCORE.sub(lambda small: small[1].upper(), path) for path in mask.paths]
    )
