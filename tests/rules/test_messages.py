"""Times and update masks in messages."""

from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from roster.v1 import subscribers_pb2, tags_pb2

from server.errors import ValidationError
from server.messages import changed_fields, milliseconds, timestamp

ALLOWED = ("name", "description")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_767_323_045_006, "2026-01-02T03:04:05.006Z"),
        (1_767_323_045_000, "2026-01-02T03:04:05Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ],
)
def test_moment_is_the_same_as_number_and_as_message(number: int, text: str) -> None:
    assert timestamp(number).ToJsonString() == text
    assert milliseconds(timestamp(number)) == number


def test_moment_is_cut_off_at_the_millisecond() -> None:
    assert milliseconds(Timestamp(seconds=1, nanos=1_999_999)) == 1_001


def update(*paths: str, name: str = "") -> tags_pb2.UpdateTagRequest:
    """Returns an update of a tag with a mask of these paths."""
    request = tags_pb2.UpdateTagRequest(id="x", name=name)
    request.update_mask.paths.extend(paths)
    request.update_mask.SetInParent()
    return request


@pytest.mark.parametrize(
    ("request_", "changed"),
    [
        pytest.param(update("name", name="a"), {"name"}, id="one path"),
        pytest.param(update("name"), {"name"}, id="path of an empty field"),
        pytest.param(update("name", "name"), {"name"}, id="path twice"),
        pytest.param(update(name="a"), set(), id="empty mask"),
        pytest.param(update("*"), {"name", "description"}, id="star"),
        pytest.param(tags_pb2.UpdateTagRequest(id="x", name="a"), {"name"}, id="no mask"),
        pytest.param(tags_pb2.UpdateTagRequest(id="x"), set(), id="no mask and no field"),
    ],
)
def test_update_changes_fields(request_: tags_pb2.UpdateTagRequest, changed: set[str]) -> None:
    assert changed_fields(request_, ALLOWED) == changed


def test_update_without_a_mask_changes_a_list_that_is_not_empty() -> None:
    request = subscribers_pb2.UpdateSubscriberRequest(tags=["a"])

    assert changed_fields(request, ("tags", "first_name")) == {"tags"}


@pytest.mark.parametrize("path", ["id", "created_at", "Name", "", "name.x"])
def test_update_of_any_other_field_is_refused_and_the_field_named(path: str) -> None:
    with pytest.raises(ValidationError) as caught:
        changed_fields(update("name", path), ALLOWED)
    assert [(detail.field, detail.code) for detail in caught.value.details] == [
        ("updateMask", "INVALID_VALUE")
    ]
    assert caught.value.details[0].message.startswith(path)
