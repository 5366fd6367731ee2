"""Distributes the tests of `make test` among processes, each with its own services.

The tests of a file stay together, in their order, because they share fixtures.

Some files are CPU-bound, others mostly wait for programs. The latter take long and have few
tests. So half of the processes start with the files of the fewest tests and the others with
those of the most, until they meet. That keeps the processors busy and starts the slowest files
early.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

# Folders whose files stay together too, because they share a browser, a toolchain or an image
# that takes many seconds to prepare.
GROUPED_FOLDERS = (
    "tests/http_gateway/docs/",
    "tests/stubs/",
    "tests/deploy/started/",
    "tests/features/links/",
)
# The slowest groups, regardless of their number of tests. They start first.
SLOWEST = (
    *GROUPED_FOLDERS,
    "tests/contract/test_schemathesis.py",
    "tests/cli/test_commands.py",
    "tests/faults/test_workers.py",
    "tests/cli/test_backup.py",
    "tests/faults/test_rate_limit.py",
    "tests/faults/test_postgres.py",
    "tests/features/webhooks/test_dispatcher.py",
)


class FileScheduling(LoadScopeScheduling):
    """Assigns files, and some folders, to processes as these become free."""

    def _split_scope(self, nodeid: str) -> str:
        """Returns the group that a test belongs to."""
        file = nodeid.partition("::")[0]
        return next((folder for folder in GROUPED_FOLDERS if file.startswith(folder)), file)

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Assigns the lowest rank to one half of the processes, the highest to the other."""
        waits = self.nodes.index(node) % 2 == 0
        group = (min if waits else max)(self.workqueue, key=self._rank)
        self.workqueue.move_to_end(group, last=False)
        super()._assign_work_unit(node)

    def _rank(self, group: str) -> int:
        """Returns the rank of a group; groups that mostly wait have low ranks."""
        return (
            SLOWEST.index(group) - len(SLOWEST) if group in SLOWEST else len(self.workqueue[group])
        )
