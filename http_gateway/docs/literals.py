"""JSON values as people write them, in JSON itself, in Python and in JavaScript."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Style:
    """How a language writes values. `words` are those that differ from JSON's."""

    blanks: int
    trailing_comma: bool = False
    plain_names: bool = False
    words: dict[object, str] = field(default_factory=dict)


JSON = Style(blanks=2)
PYTHON = Style(blanks=4, trailing_comma=True, words={None: "None", True: "True", False: "False"})
JAVASCRIPT = Style(blanks=2, trailing_comma=True, plain_names=True)


def laid_out(value: object, style: Style, depth: int = 0) -> str:
    """Returns a value in a style, whose lines after the first begin at least `depth` steps in."""
    if isinstance(value, dict) and value:
        items = [
            f"{_name(name, style)}: {laid_out(item, style, depth + 1)}"
            for name, item in value.items()
        ]
        return _over_lines("{", items, "}", style, depth)
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        items = [laid_out(item, style, depth + 1) for item in value]
        return _over_lines("[", items, "]", style, depth)
    if isinstance(value, list):
        return f"[{', '.join(laid_out(item, style) for item in value)}]"
    if value is None or isinstance(value, bool):
        return style.words.get(value, json.dumps(value))
    return json.dumps(value, ensure_ascii=False)


def _name(name: str, style: Style) -> str:
    return name if style.plain_names and _PLAIN_NAME.fullmatch(name) else json.dumps(name)


def _over_lines(opening: str, items: list[str], closing: str, style: Style, depth: int) -> str:
    inner, edge = (f"\n{' ' * style.blanks * steps}" for steps in (depth + 1, depth))
    last = "," if style.trailing_comma else ""
    return f"{opening}{inner}{f',{inner}'.join(items)}{last}{edge}{closing}"
