"""How `make test` shares the tests out among processes, each with services of its own.

The tests of a file stay together, in their order, since they share what the file sets up.

Some files make the processors work, others mostly wait for programs to start and to end. A
file of the second kind takes long and has few tests. So half of the processes begin with
the files of the fewest tests and the others with those of the most, until they meet: that
keeps the processors busy all the time, and what takes longest is never left for the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

# Folders whose files stay together too: a browser, the programs of a language, and an image
# take many seconds to make ready.
TOGETHER = ("tests/http_gateway/docs/", "tests/stubs/", "tests/deploy/started/")
# What takes longest of all, whatever the number of its tests. It is begun first.
LONG = (
    *TOGETHER,
    "tests/contract/test_schemathesis.py",
    "tests/cli/test_commands.py",
    "tests/faults/test_workers.py",
    "tests/cli/test_backup.py",
    "tests/faults/test_rate_limit.py",
    "tests/faults/test_postgres.py",
    "tests/webhooks/test_dispatcher.py",
)


class Numbered(list[str]):
    """The tests of a run; says where each of them stands without searching for it."""

    def __init__(self, tests: Sequence[str]) -> None:
        super().__init__(tests)
        self._numbers = {test: number for number, test in enumerate(tests)}

    def index(self, test: str, *bounds: object) -> int:
        return self._numbers[test]


class Shares(LoadScopeScheduling):
    """Deals out files, and some folders, as processes become free."""

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        super().add_node_collection(node, collection)
        self.registered_collections[node] = Numbered(collection)

    def _split_scope(self, nodeid: str) -> str:
        """Returns the share that a test belongs to."""
        file = nodeid.partition("::")[0]
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Gives a process the share that is first from its side."""
        waits = self.nodes.index(node) % 2 == 0
        share = (min if waits else max)(self.workqueue, key=self._place)
        self.workqueue.move_to_end(share, last=False)
        super()._assign_work_unit(node)

    def _place(self, share: str) -> int:
        """Returns where a share stands between what mostly waits and what mostly works."""
        return LONG.index(share) - len(LONG) if share in LONG else len(self.workqueue[share])
