"""Code as HTML, with the words of its language marked.

The code is the page's own and holds few kinds of words: strings, names before a
colon, numbers and some words of each language. All else stays plain. The base URL,
what stands for the key, and what differs from call to call are marked apart: the page
puts its own in their places.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape

from markupsafe import Markup

BASE = "http://127.0.0.1:8080"
# What stands for the key in a language, and the quotes that the key has to have there.
KEYS = {
    "curl": ("$ROSTER_API_KEY", ""),
    "python": ('os.environ["ROSTER_API_KEY"]', '"'),
    "javascript": ("process.env.ROSTER_API_KEY", '"'),
}

# What stands before the name of a place, before its text and after it. No text has these.
_PLACE, _TEXT, _END = "\ue000\ue001\ue002"

_OWN_BASE = f'<span class="own-base">{BASE}</span>'
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_NAME = rf"{_STRING}(?=:)"
_NAMES = {
    "javascript": rf"{_NAME}|(?<=\s)\w+(?=:\s)",
    "headers": r"(?m:^[\w-]+)(?=: )",
}
_COMMENTS = {"python": "#.*", "javascript": "//.*", "go": "//.*"}
_WORDS = {
    "curl": r"(?<![\w-])curl\b|(?<=\s)-{1,2}[A-Za-z][\w-]*",
    "python": (
        r"\b(?:import|from|def|class|while|for|if|not|in|try|except|return|True|False|None)\b"
    ),
    "javascript": (
        r"\b(?:import|from|function|async|const|await|for|of|if|try|catch|new|true|false|null)\b"
    ),
    "go": r"\b(?:package|import|type|struct|var|func|make|chan|go|for|range|if|return|nil|true)\b",
    "json": r"\b(?:true|false|null)\b",
    "headers": r"(?!)",
}


def highlight(text: str, language: str) -> Markup:
    """Returns code as HTML."""
    parts, end = [], 0
    for match in _pattern(language).finditer(text):
        parts += [_escaped(text[end : match.start()]), _marked(match, language)]
        end = match.end()
    parts.append(_escaped(text[end:]))
    html = re.sub(f"{_PLACE}(.*?){_TEXT}", r'<span data-own="\1">', "".join(parts))
    return Markup(html.replace(_END, "</span>"))  # noqa: S704 - each part is escaped


def own(name: str, text: str) -> str:
    """Returns code as `highlight` takes it, as a place of this name."""
    return f"{_PLACE}{name}{_TEXT}{text}{_END}"


def own_base() -> Markup:
    """Returns the base URL, marked as such."""
    return Markup(_OWN_BASE)  # noqa: S704 - a constant


@cache
def _pattern(language: str) -> re.Pattern[str]:
    kinds = {
        "key": re.escape(KEYS[language][0]) if language in KEYS else r"(?!)",
        "name": _NAMES.get(language, _NAME),
        "string": _STRING,
        "comment": _COMMENTS.get(language, r"(?!)"),
        "word": _WORDS[language],
        "number": r"-?\b\d+(?:\.\d+)?\b",
    }
    return re.compile("|".join(f"(?P<{kind}>{text})" for kind, text in kinds.items()))


def _marked(match: re.Match[str], language: str) -> str:
    kind, html = match.lastgroup, _escaped(match[0])
    if kind == "key":
        return _own_key(language)
    if kind == "string":
        html = html.replace(BASE, _OWN_BASE)
        if language == "curl":
            html = html.replace(KEYS["curl"][0], _own_key("curl"))
    return f'<span class="t-{kind}">{html}</span>'


def _own_key(language: str) -> str:
    text, quote = KEYS[language]
    return f'<span class="own-key" data-quote="{escape(quote)}">{text}</span>'


def _escaped(text: str) -> str:
    """Returns text between tags; quotes mean nothing there, and code is full of them."""
    return escape(text, quote=False)
