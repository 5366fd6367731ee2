"""Compares names of columns and status words."""

from __future__ import annotations

import re

from ...texts import caseless_key

_SPACES = re.compile(r"[\s_-]+")


def normalized(name: str) -> str:
    """Returns a name without case, whitespace, `-` and `_`."""
    return _SPACES.sub("", caseless_key(name))
