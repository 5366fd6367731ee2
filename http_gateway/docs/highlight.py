"""Renders code as HTML with syntax highlighting.

Strings, names before a colon, numbers, comments and some keywords of each language are marked.
Placeholders are marked as well: the scripts of the page replace them, for example with the
values of a form.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape

from markupsafe import Markup

# Private-use characters: before the name of a placeholder, before its text, and after it.
_NAME_MARK, _TEXT_MARK, _END_MARK = "\ue000\ue001\ue002"

_NEVER = r"(?!)"
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_NAME = rf"{_STRING}(?=:)"
_NAMES = {
    "javascript": rf"{_NAME}|(?<=\s)\w+(?=:\s)",
    "headers": r"(?m:^[\w-]+)(?=: )",
}
_COMMENTS = {"python": "#.*", "javascript": "//.*", "go": "//.*", "curl": r"(?m:(?<=\s)#.*|^#.*)"}
_KEYWORDS = {
    "curl": (r"(?<![\w./-])(?:curl|grpcurl|export)\b(?=\s)|(?<=\s)-{1,2}[A-Za-z][\w-]*"),
    "python": (
        r"\b(?:import|from|def|class|while|with|as|for|if|not|in|try|except|return|True|False"
        r"|None)\b"
    ),
    "javascript": (
        r"\b(?:import|from|function|async|const|await|for|of|if|try|catch|new|true|false|null)\b"
    ),
    "go": r"\b(?:package|import|type|struct|var|func|make|chan|go|for|range|if|return|nil|true)\b",
    "json": r"\b(?:true|false|null)\b",
}
_KEYWORDS["grpc"], _COMMENTS["grpc"] = _KEYWORDS["curl"], _COMMENTS["curl"]


def highlight(text: str, language: str) -> Markup:
    """Returns code as HTML; code in an unknown language is only escaped."""
    parts, end = [], 0
    for match in _pattern(language).finditer(text):
        parts += [_escaped(text[end : match.start()]), _marked(match)]
        end = match.end()
    parts.append(_escaped(text[end:]))
    start = f"{_NAME_MARK}(.*?){_TEXT_MARK}"
    html = re.sub(start, r'<span data-placeholder="\1">', "".join(parts))
    return Markup(html.replace(_END_MARK, "</span>"))  # noqa: S704 - each part is escaped


def placeholder(name: str, text: str) -> str:
    """Returns code for `highlight` in which this text is a placeholder."""
    return f"{_NAME_MARK}{name}{_TEXT_MARK}{text}{_END_MARK}"


@cache
def _pattern(language: str) -> re.Pattern[str]:
    if language not in _KEYWORDS and language not in _NAMES:
        return re.compile(_NEVER)
    kinds = {
        "name": _NAMES.get(language, _NAME),
        "string": _STRING,
        "comment": _COMMENTS.get(language, _NEVER),
        "keyword": _KEYWORDS.get(language, _NEVER),
        "number": r"-?\b\d+(?:\.\d+)?\b",
    }
    return re.compile("|".join(f"(?P<{kind}>{text})" for kind, text in kinds.items()))


def _marked(match: re.Match[str]) -> str:
    return f'<span class="t-{match.lastgroup}">{_escaped(match[0])}</span>'


def _escaped(text: str) -> str:
    """Returns text for an element; quotes need no escape there, and code has many."""
    return escape(text, quote=False)
