"""Names of downloaded exports, and the header by which a browser stores them (RFC 6266)."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

from ...rpc.errors import SegmentNotFound
from ...storage.transaction import Transaction
from ...values.ids import checked_id
from ..segments.store import find

# Characters of the part before the date. Letters can take several bytes, and file systems accept
# names of 255 bytes.
MAX_LENGTH = 50
_DEFAULT = "subscribers"
_SEPARATORS = re.compile(r"[\W_]+")


def segment_name(account_id: str, segment_id: str, tx: Transaction) -> str:
    """Returns the name of a segment, or an empty text if it was deleted."""
    try:
        return find(account_id, checked_id(segment_id, SegmentNotFound), tx).name
    except SegmentNotFound:
        return ""


def disposition(words: str, ending: str) -> str:
    """Returns the header for a file named after a segment or a filter.

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
