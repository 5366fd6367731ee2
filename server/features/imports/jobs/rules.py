"""The states of imports, and what an import stores about its file and its progress."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple

_NONE: Mapping[str, Any] = {}
_BYTES = "processedBytes"
_FIELDS = "customFields"

MAX_BYTES = 2 << 30
# Imports of an account that have not ended.
MAX_OPEN = 20
RETENTION_MILLISECONDS = 7 * 24 * 3600 * 1000
# Rows that an inspection shows as they will be stored.
MAX_SAMPLES = 5
MAX_COLUMNS = 200


class State(IntEnum):
    """The state of an import; the numbers of ImportJob.State."""

    UPLOADING = 1
    INSPECTING = 2
    READY = 3
    RUNNING = 4
    SUCCEEDED = 5
    CANCELLED = 6
    FAILED = 7


# An operation of the import is waiting or running.
ACTIVE = (State.INSPECTING, State.RUNNING)
OPEN = (State.UPLOADING, State.READY, *ACTIVE)


class Progress(NamedTuple):
    """The progress of a run, stored in the transaction of each step.

    All rows up to `line` are processed: `rows` rows. `summary` is the JSON of ImportSummary, and
    has the number of processed bytes and the custom fields of the columns, where programs of the
    previous release ignore them.
    `columns` are the keys of the custom fields for unknown columns, by position, which the run
    created, and is None before the header is read. `since` is the revision from which subscribers
    can be those that this run created.
    """

    dry_run: bool = False
    line: int = 0
    rows: int = 0
    since: int = 0
    columns: dict[str, str] | None = None
    summary: Mapping[str, Any] = _NONE

    def with_summary(
        self,
        summary: Mapping[str, Any],
        processed_bytes: int,
        fields: Mapping[str, str] = _NONE,
    ) -> Progress:
        return self._replace(summary={**summary, _BYTES: processed_bytes, _FIELDS: fields})

    @property
    def bytes(self) -> int:
        """The number of bytes of the file up to the processed rows."""
        return int(self.summary.get(_BYTES, 0))

    @property
    def fields(self) -> Mapping[str, str]:
        """The label keys of the custom fields that columns of the file set, by key."""
        fields: Mapping[str, str] = self.summary.get(_FIELDS, _NONE)
        return fields
