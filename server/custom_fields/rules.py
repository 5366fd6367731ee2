"""What a custom field's label may be, and the key that it derives."""

from __future__ import annotations

import re
import unicodedata
from enum import IntEnum

from anyascii import anyascii

from ..errors import invalid

MAX_FIELDS = 100
MAX_KEY_LENGTH = 64
# The words that templates and exports use for what every subscriber has.
RESERVED_KEYS = frozenset(
    {
        "id",
        "email",
        "first_name",
        "last_name",
        "status",
        "tags",
        "created_at",
        "updated_at",
        "custom_fields",
        "unsubscribe_url",
    }
)


class DataType(IntEnum):
    """What values of a field are; the numbers of CustomField.DataType."""

    TEXT = 1
    NUMBER = 2
    BOOLEAN = 3
    DATE = 4


def label_key(label: str) -> str:
    """Returns the label as it is compared: Unicode NFC, without regard to case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", label).casefold())


def derive_key(label: str) -> str:
    """Returns the key of a label.

    Unicode NFKD, transliterated to ASCII, lower case, every run of other
    characters one underscore, none at the edges, at most 64 characters, `f_`
    before a leading digit. Camel case is not split. Raises ValidationError if
    nothing is left (an emoji, say) or the key is one of the service's own words.
    """
    plain = "".join(_transliterate(letter) for letter in unicodedata.normalize("NFKD", label))
    key = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")
    if not key:
        raise invalid("label", "INVALID_FORMAT", "must hold a letter or a digit")
    if key[0].isdigit():
        key = f"f_{key}"
    key = key[:MAX_KEY_LENGTH].rstrip("_")
    if key in RESERVED_KEYS:
        raise invalid("label", "RESERVED", f"derives the key {key}, which is reserved")
    return key


def _transliterate(letter: str) -> str:
    # The tables have names for emoji too, between colons (:thumbsup:), but a
    # field that is labelled with pictures alone has no word to be called by.
    plain: str = anyascii(letter)
    is_picture = unicodedata.category(letter) == "So" or plain[:1] == plain[-1:] == ":"
    return " " if is_picture else plain
