"""Segments over every front."""

from __future__ import annotations

from typing import Any

import pytest

from rosterd.server.features.segments import store
from rosterd.server.features.subscribers.query.syntax import parse

from ..conftest import Account
from .helpers import create_field, create_subscriber
from .streams import export

VIPS = 'status = UNCONFIRMED AND tags:"vip"'


def create_segment(account: Account, name: str, text: str) -> dict[str, Any]:
    segment: dict[str, Any] = account.ok("CreateSegment", name=name, filter=text)["segment"]
    return segment


def filter_of(account: Account, segment: dict[str, Any]) -> str:
    text: str = account.ok("GetSegment", id=segment["id"])["segment"]["filter"]
    return text


def create_people(account: Account) -> None:
    create_subscriber(account, "ada@example.com", tags=["vip"])
    create_subscriber(account, "bob@example.com", tags=["news"])


def test_lists_and_exports_select_the_subscribers_of_a_segment(account: Account) -> None:
    create_people(account)
    segment = create_segment(account, "VIPs", VIPS)["id"]
    everyone = create_segment(account, "everyone", "email:*")["id"]

    page = account.ok("ListSubscribers", segmentId=segment)
    both = account.ok("ListSubscribers", segmentId=everyone, filter="tags:news OR tags:old")

    assert ([one["email"] for one in page["subscribers"]], page["total"]) == (
        ["ada@example.com"],
        1,
    )
    assert [one["email"] for one in both["subscribers"]] == ["bob@example.com"]
    assert [one["email"] for one in export(account, segmentId=segment)] == ["ada@example.com"]


@pytest.mark.each_database
def test_segments_of_a_subscriber_are_those_that_return_it(account: Account) -> None:
    create_field(account, "Plan")
    person = {"tags": ["vip"], "customFields": {"plan": "pro"}}
    ada = create_subscriber(account, isConfirmed=True, **person)
    create_subscriber(account, "bob@example.com")
    filters = [
        *("email:*", VIPS, "tags:vip", "NOT tags:vip", "tags:other", 'customFields.plan = "pro"'),
        *("customFields.plan:*", "status = CONFIRMED AND email.domain = example.com"),
        *("firstName:*", 'createdAt > "2020-01-01"', 'updatedAt > "2999-01-01"'),
    ]
    segments = [
        create_segment(account, f"{number:02}", text) for number, text in enumerate(filters)
    ]

    page = account.ok("ListSubscriberSegments", id="ada@example.com", limit=100)

    def returns_ada(segment: dict[str, Any]) -> bool:
        found = account.ok("ListSubscribers", segmentId=segment["id"])["subscribers"]
        return ada["id"] in [subscriber["id"] for subscriber in found]

    expected = [segment for segment in segments if returns_ada(segment)]
    assert page == {"segments": expected, "total": 6, "page": 1, "limit": 100}


def test_pages_of_a_segment_follow_each_other(account: Account) -> None:
    for number in range(3):
        create_subscriber(account, f"{number}@example.com")
    segment = create_segment(account, "everyone", "email:*")["id"]

    first = account.call("ListSubscribers", segmentId=segment, limit=2)
    token = first.next
    second = account.ok("ListSubscribers", segmentId=segment, limit=2, pageToken=token)

    assert [one["email"] for one in second["subscribers"]] == ["2@example.com"]
    account.ok("UpdateSegment", id=segment, filter="NOT tags:vip")
    error = account.fails("ValidationError", "ListSubscribers", segmentId=segment, pageToken=token)
    assert error.violations == [("pageToken", "INVALID_VALUE")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "REQUIRED"),
        ("status =", "INVALID_FORMAT"),
        ("tags:“vip”", "INVALID_FORMAT"),
        ("customFields.plan = pro", "UNKNOWN_FIELD"),
        ("tags = vip", "INVALID_VALUE"),
        ("a" * 4001, "TOO_LONG"),
    ],
)
def test_an_invalid_filter_of_a_segment_is_rejected(account: Account, text: str, code: str) -> None:
    segment = create_segment(account, "VIPs", VIPS)

    for rpc, fields in (("CreateSegment", {}), ("UpdateSegment", {"id": segment["id"]})):
        error = account.fails("ValidationError", rpc, name="other", filter=text, **fields)
        assert error.violations == [("filter", code)]
    assert account.ok("ListSegments")["segments"] == [segment]


def test_names_of_segments_are_unique_without_regard_to_case(account: Account) -> None:
    create_segment(account, "vips", VIPS)
    other = create_segment(account, "Other", VIPS)

    assert account.fails("SegmentAlreadyExists", "CreateSegment", name="VIPS", filter=VIPS)
    assert account.fails("SegmentAlreadyExists", "UpdateSegment", id=other["id"], name="Vips")
    body = account.ok("ListSegments", limit=1, page=2)
    assert [segment["name"] for segment in body["segments"]] == ["vips"]
    assert (body["total"], body["page"], body["limit"]) == (2, 2, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tags:vip", 'tags:"new \\"\\*\\\\"'),
        ("tags: \"ViP\" OR NOT tags:'vip' status = CONFIRMED", None),
        ("tags:vi* AND tags:vips", "tags:vi* AND tags:vips"),
    ],
)
def test_filters_follow_the_new_name_of_a_tag(
    account: Account, text: str, expected: str | None
) -> None:
    tag = account.ok("CreateTag", name="vip")["tag"]
    segment = create_segment(account, "VIPs", text)

    account.ok("UpdateTag", id=tag["id"], name='new "*\\')

    name = '"new \\"\\*\\\\"'
    renamed = f"tags: {name} OR NOT tags:{name} status = CONFIRMED"
    assert filter_of(account, segment) == (expected or renamed)


def test_a_tag_that_segments_name_is_deleted_only_with_force(account: Account) -> None:
    tag = account.ok("CreateTag", name="vip")["tag"]
    segment, other = create_segment(account, "VIPs", VIPS), create_segment(account, "o", "tags:o")

    error = account.fails("UsedBySegments", "DeleteTag", id=tag["id"])

    assert error.status == 409
    assert error.violations == [("id", "IN_USE")]
    assert segment["id"] in error.body["error"]["details"][0]["message"]
    assert account.ok("GetTag", id=tag["id"])["tag"] == tag
    assert account.call("DeleteTag", id=tag["id"], force=True).status == 204
    assert (filter_of(account, segment), filter_of(account, other)) == ("", "tags:o")


def test_a_custom_field_that_segments_name_is_deleted_only_with_force(account: Account) -> None:
    field = create_field(account, "Plan", "TEXT")
    segment = create_segment(account, "Pro", "custom_fields.plan = pro AND customFields.plan:*")

    assert account.fails("UsedBySegments", "DeleteCustomField", id=field["id"]).status == 409
    account.call("DeleteCustomField", id=field["id"], force=True)

    assert filter_of(account, segment) == ""
    for rpc in ("ListSubscribers", "ExportSubscribers"):
        assert account.fails("SegmentWithoutFilter", rpc, segmentId=segment["id"]).status == 409
    create_subscriber(account)
    assert account.ok("ListSubscriberSegments", id="ada@example.com")["segments"] == []
    account.ok("UpdateSegment", id=segment["id"], filter="tags:vip")
    assert account.ok("ListSubscribers", segmentId=segment["id"])["total"] == 0


def used_by(resource: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(use["type"], use["id"], use["name"]) for use in resource.get("usedBy", [])]


def test_tags_and_custom_fields_are_returned_with_the_segments_that_name_them(
    account: Account,
) -> None:
    tags = [account.ok("CreateTag", name=name)["tag"] for name in ("news", "vip")]
    field = create_field(account, "Plan", "TEXT")
    named = create_segment(account, "vips", "(tags:old OR tags:ViP) customFields.plan = pro")
    other = create_segment(account, "News", "tags:news")
    create_segment(account, "prefix", "tags:v* AND status = CONFIRMED")
    account.ok("UpdateTag", id=tags[0]["id"], name="letters")
    of_vip, of_news = ("SEGMENT", named["id"], "vips"), ("SEGMENT", other["id"], "News")

    vip = account.call("GetTag", id=tags[1]["id"], include=["USED_BY"])
    listed = account.ok("ListTags", include=["USED_BY"])["tags"]
    with_uses = account.ok("GetCustomField", id=field["id"], include=["USED_BY"])["customField"]
    (listed_field,) = account.ok("ListCustomFields", include=["USED_BY"])["customFields"]

    assert used_by(vip.body["tag"]) == [of_vip]
    assert [used_by(tag) for tag in listed] == [[of_news], [of_vip]]
    assert used_by(with_uses) == used_by(listed_field) == [of_vip]
    without = account.call("GetTag", id=tags[1]["id"])
    assert (without.body["tag"], without.etag) == (tags[1], vip.etag)
    assert account.ok("ListCustomFields")["customFields"] == [field]


def test_an_account_has_at_most_500_segments(account: Account) -> None:
    with account.service.unit_of_work() as tx:
        for number in range(500):
            store.create(account.id, f"segment {number}", "tags:vip", parse("tags:vip"), "", tx)

    error = account.fails("SegmentLimitReached", "CreateSegment", name="more", filter="tags:vip")

    assert error.status == 409
    assert account.ok("ListSegments")["total"] == 500


def test_typographic_quote_in_a_stored_filter_is_a_part_of_the_value(account: Account) -> None:
    create_subscriber(account, "ada@example.com", tags=["“vip”"])
    text = "tags:“vip”"
    with account.service.unit_of_work() as tx:
        segment = store.create(account.id, "old", text, parse(text), "", tx).id

    assert account.ok("ListSubscribers", segmentId=segment)["total"] == 1
    error = account.fails("ValidationError", "ListSubscribers", filter=text)
    assert error.violations == [("filter", "INVALID_FORMAT")]
    account.ok("UpdateSegment", id=segment, name="same filter", filter=text)
    account.fails("ValidationError", "UpdateSegment", id=segment, filter=f"{text} OR {text}")


def test_segment_whose_filter_is_no_longer_valid_matches_nobody_and_says_why(
    account: Account,
) -> None:
    create_field(account, "Age", "TEXT")
    create_subscriber(account, "ada@example.com", customFields={"age": "9"})
    text = "customFields.age > 30"
    with account.service.unit_of_work() as tx:
        segment = store.create(account.id, "old", text, parse(text), "", tx).id

    for rpc, request in (
        ("ListSubscribers", {"segmentId": segment, "filter": "email:*"}),
        ("ExportSubscribers", {"segmentId": segment}),
        ("GetStatistics", {"segmentIds": [segment]}),
        ("BatchChangeSubscribers", {"segmentId": segment, "action": {"delete": True}}),
    ):
        error = account.fails("ValidationError", rpc, **request)
        assert error.violations == [("segmentId", "INVALID_TYPE")], rpc
        (detail,) = error.body["error"]["details"]
        assert detail["message"] == (
            "is no longer valid: filter must quote the value of a TEXT field, or change its"
            " dataType to NUMBER (column 20)"
        )
    assert account.ok("ListSubscriberSegments", id="ada@example.com")["segments"] == []
    both = account.fails("ValidationError", "ListSubscribers", segmentId=segment, filter="status =")
    assert both.violations == [("filter", "INVALID_FORMAT")]
    assert filter_of(account, {"id": segment}) == text
