"""The names of downloaded files, and the header by which a browser stores them (RFC 6266)."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

# Characters of the part before the date. Letters can take several bytes, and file systems accept
# names of 255 bytes.
MAX_LENGTH = 50
_DEFAULT = "subscribers"
_SEPARATORS = re.compile(r"[\W_]+")


def disposition(words: str, ending: str) -> str:
    """Returns the header for a file named after words, such as those of a filter.

    Older clients read the name in ASCII.
    """
    base = _as_part(words) or _DEFAULT
    decomposed = unicodedata.normalize("NFKD", base)
    plain = _as_part(decomposed.encode("ascii", "ignore").decode()) or _DEFAULT
    header = f'attachment; filename="{plain}{ending}"'
    if plain != base:
        header += f"; filename*=UTF-8''{quote(base + ending, safe='')}"
    return header


def _as_part(text: str) -> str:
    """Returns the letters and digits of a text, joined by hyphens."""
    text = unicodedata.normalize("NFC", text.lower())
    return _SEPARATORS.sub("-", text)[:MAX_LENGTH].strip("-")
