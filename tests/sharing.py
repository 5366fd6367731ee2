"""How `make test` shares the tests out among processes, each with services of its own.

The tests of a file stay together, in their order, since they share what the file sets up.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

# Folders whose files stay together too. The programs of a language, and an image, take many
# seconds to make; and the big shares are dealt out first, which schemathesis, a single long test,
# would not be by itself.
TOGETHER = ("tests/stubs/", "tests/contract/", "tests/deploy/started/")


class Shares(LoadScopeScheduling):
    """Deals out files, and some folders, as processes become free; the biggest first."""

    def _split_scope(self, nodeid: str) -> str:
        """Returns the share that a test belongs to."""
        file = nodeid.partition("::")[0]
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)
