"""Timestamps and update masks in messages, and splitting of large messages."""

from __future__ import annotations

import pytest

from roster.v1 import subscribers_pb2
from rosterd.server.rpc.messages import MAX_STREAMED_BYTES, milliseconds, split_message, timestamp

from ..cases import each


@each(
    ("number", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_767_323_045_006, "2026-01-02T03:04:05.006Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ],
)
def test_timestamp_converts_to_a_message_and_back(number: int, text: str) -> None:
    assert timestamp(number).ToJsonString() == text
    assert milliseconds(timestamp(number)) == number


def exported(*lengths: int) -> subscribers_pb2.ExportSubscribersResponse:
    """Returns a message with subscribers of about these lengths in bytes."""
    return subscribers_pb2.ExportSubscribersResponse(
        subscribers=[
            subscribers_pb2.Subscriber(id=str(number), first_name="x" * length)
            for number, length in enumerate(lengths)
        ]
    )


@pytest.mark.parametrize(
    ("lengths", "counts"),
    [
        ([], [0]),
        ([300_000] * 7, [3, 3, 1]),
        ([10, 2_000_000, 10], [1, 1, 1]),
        ([1_048_500, 100], [1, 1]),
    ],
    ids=str,
)
def test_message_is_split_into_pieces_with_its_records_in_order(
    lengths: list[int], counts: list[int]
) -> None:
    whole = exported(*lengths)

    pieces = list(split_message(whole))

    assert [len(piece.subscribers) for piece in pieces] == counts
    assert [row for piece in pieces for row in piece.subscribers] == list(whole.subscribers)
    for piece in pieces:
        assert piece.ByteSize() <= MAX_STREAMED_BYTES or len(piece.subscribers) == 1
