"""The names of segments, after which exports are named."""

from __future__ import annotations

from ...rpc.errors import SegmentNotFound
from ...storage.transaction import Transaction
from ...values.ids import checked_id
from ..segments.store import find


def segment_name(account_id: str, segment_id: str, tx: Transaction) -> str:
    """Returns the name of a segment, or an empty text if it was deleted."""
    try:
        return find(account_id, checked_id(segment_id, SegmentNotFound), tx).name
    except SegmentNotFound:
        return ""
