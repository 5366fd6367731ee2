"""Removes erased persons from imports.

A file can contain a person in many spellings, and is encrypted. So the files of all imports that
are not running are deleted, whether they contain the person or not.
"""

from __future__ import annotations

from collections.abc import Collection

from ....storage.transaction import Transaction
from ....values.emails import addresses_in, json_without_addresses, text_key
from ....values.file_addresses import all_addresses
from ...files import store as files
from ...operations import store as operations
from ...suppressions.store import Suppressions
from . import store
from .rules import ACTIVE, OPEN, State
from .store import FailedRow, ImportRow

# The time in which a running import must end, because it needs its file.
_RUN_MILLISECONDS = 24 * 3600 * 1000
_ERASED = (
    "The file was deleted, because the data of a person was erased. Create the import again with"
    " a file without this person."
)


def remove_from_imports(
    account_id: str, addresses: Collection[str], suppressions: Suppressions, tx: Transaction
) -> None:
    """Removes addresses, given by `text_key`, from all imports.

    A running import skips the rows of these addresses. Others that have not ended fail.
    """
    hashes = {suppressions.hash_of(account_id, each) for each in addresses}
    erased = frozenset(addresses)

    def names_person(row: FailedRow) -> bool:
        return any(
            not erased.isdisjoint((*addresses_in(cell), *map(text_key, all_addresses(cell))))
            for cell in row.cells
        )

    for row in store.every(account_id, tx):
        store.remove_from_failures(account_id, row.id, names_person, tx)
        row = _without_person(row, erased)
        if row.state == State.RUNNING and not row.run.dry_run:
            if row.file_id:
                files.set_expiry(account_id, row.file_id, tx.now + _RUN_MILLISECONDS, tx)
            row = row._replace(erased=store.as_json(sorted({*row.erased_hashes, *hashes})))
        else:
            row = store.without_file(account_id, row, tx)
            if row.state in ACTIVE:
                operations.cancel(account_id, row.operation_id, tx)
            if row.state in OPEN:
                error = operations.error_text("IMPORT_STATE_CONFLICT", _ERASED)
                row = row._replace(state=State.FAILED, ended_at=tx.now, error=error)
        store.put(account_id, row, tx)


def _without_person(row: ImportRow, addresses: Collection[str]) -> ImportRow:
    """Returns an import without its samples, and without the addresses in its texts."""

    def without(text: str) -> str:
        return json_without_addresses(text, addresses) if text else ""

    # In the name of a file, an address ends anywhere, as before an extension.
    name = text_key(row.name)
    content = row.content
    for column in content.get("columns", ()):
        column["examples"] = []
    content.pop("sample", None)
    return row._replace(
        inspection=without(store.as_json(content)) if content else "",
        name="erased" if any(each in name for each in addresses) else row.name,
        options=without(row.options),
        progress=without(row.progress),
        error=without(row.error),
    )
