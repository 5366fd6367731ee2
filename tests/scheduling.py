"""Distributes the tests of `make test` among processes, each with its own services.

The tests of a file stay together, in their order, because they share fixtures. The files with the
most tests start first.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

# Folders whose files stay together too, because they share a browser, a toolchain or an image
# that takes many seconds to prepare.
GROUPED_FOLDERS = (
    "tests/http_gateway/docs/",
    "tests/stubs/",
    "tests/deploy/started/",
    "tests/features/links/",
)


class FileScheduling(LoadScopeScheduling):
    """Assigns files, and some folders, to processes as these become free."""

    def _split_scope(self, nodeid: str) -> str:
        """Returns the group that a test belongs to."""
        file = nodeid.partition("::")[0]
        return next((folder for folder in GROUPED_FOLDERS if file.startswith(folder)), file)
