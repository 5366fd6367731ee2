"""Suggests known names for misspelled ones.

Clients choose the unknown names, and accounts many of the known ones. difflib is slow with similar
names, so it compares only those that share most pairs of letters with the unknown one.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nlargest

# The most unknown names of a request for which a known one is suggested.
MAX_SUGGESTIONS = 3
# The longest unknown name that is compared, and the number of names that difflib compares.
_MAX_COMPARED, _MAX_CANDIDATES = 100, 3
_WITHOUT_SEPARATORS = str.maketrans("", "", "._- \t")


class KnownNames:
    """Names, of which the nearest to a misspelled one is suggested.

    Case and separators are not compared. A dotted name is also suggested for its last part.
    """

    def __init__(self, names: Iterable[str]) -> None:
        names = list(names)
        self._names = {_letters(_last(name)): name for name in names}
        self._names |= {_letters(name): name for name in names}

    def nearest(self, name: str) -> str | None:
        """Returns the known name that is most similar to a name, or None."""
        if len(name) > _MAX_COMPARED:
            return None
        if (whole := _letters(name)) in self._names:
            return self._names[whole]
        last = _letters(_last(name))
        pairs = _pairs(last)
        candidates = nlargest(
            _MAX_CANDIDATES,
            self._names,
            lambda known: len(pairs & _pairs(known)) / (len(pairs) + len(known)),
        )
        similar = get_close_matches(last, candidates, 1)
        return self._names[similar[0]] if similar else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name; "" without a similar known one."""
    nearest = KnownNames(known).nearest(name)
    return f"; did you mean {nearest}?" if nearest else ""


def _letters(name: str) -> str:
    return name.translate(_WITHOUT_SEPARATORS).lower()


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _pairs(letters: str) -> set[str]:
    return {letters[index : index + 2] for index in range(len(letters))}
