"""Formats JSON values as literals of JSON, Python and JavaScript."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Style:
    """The literals of a language. `words` are keywords that differ from those of JSON."""

    indent: int
    trailing_comma: bool = False
    plain_names: bool = False
    words: dict[object, str] = field(default_factory=dict)


JSON = Style(indent=2)
PYTHON = Style(indent=4, trailing_comma=True, words={None: "None", True: "True", False: "False"})
JAVASCRIPT = Style(indent=2, trailing_comma=True, plain_names=True)


def formatted(value: object, style: Style, depth: int = 0) -> str:
    """Formats a value; lines after the first are indented by at least `depth` levels."""
    if isinstance(value, dict) and value:
        items = [
            f"{_name(name, style)}: {formatted(item, style, depth + 1)}"
            for name, item in value.items()
        ]
        return _multiline("{", items, "}", style, depth)
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        items = [formatted(item, style, depth + 1) for item in value]
        return _multiline("[", items, "]", style, depth)
    if isinstance(value, list):
        return f"[{', '.join(formatted(item, style) for item in value)}]"
    if value is None or isinstance(value, bool):
        return style.words.get(value, json.dumps(value))
    return json.dumps(value, ensure_ascii=False)


def _name(name: str, style: Style) -> str:
    return name if style.plain_names and _PLAIN_NAME.fullmatch(name) else json.dumps(name)


def _multiline(opening: str, items: list[str], closing: str, style: Style, depth: int) -> str:
    inner, outer = (f"\n{' ' * style.indent * level}" for level in (depth + 1, depth))
    last = "," if style.trailing_comma else ""
    return f"{opening}{inner}{f',{inner}'.join(items)}{last}{outer}{closing}"
