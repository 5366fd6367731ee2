"""Stores of tags, custom fields, accounts, API keys and idempotent responses."""

from __future__ import annotations

import pytest

from rosterd.server.features.accounts import store as accounts
from rosterd.server.features.custom_fields import store as custom_fields
from rosterd.server.features.custom_fields.rules import MAX_FIELDS
from rosterd.server.features.tags import store as tags
from rosterd.server.rpc.errors import (
    CustomFieldAlreadyExists,
    CustomFieldLimitReached,
    TagAlreadyExists,
)
from rosterd.server.rpc.idempotency import store as answers
from rosterd.server.rpc.idempotency.store import StoredResponseRow
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS, THEIRS, field


def test_tag_name_is_unique_ignoring_case(tx: Transaction) -> None:
    tag = tags.create(OURS, "vip", "pays", tx)
    tags.create(OURS, "new", "", tx)

    with pytest.raises(TagAlreadyExists):
        tags.create(OURS, "VIP", "", tx)
    with pytest.raises(TagAlreadyExists):
        tags.update(OURS, tag.id, {"name": "NEW"}, tx)
    assert tags.update(OURS, tag.id, {"name": "VIP"}, tx).description == "pays"


@pytest.mark.parametrize(
    ("key", "label"), [("city", "Town"), ("town", "CITY")], ids=["key", "label"]
)
def test_field_key_and_label_are_unique_ignoring_case(
    tx: Transaction, key: str, label: str
) -> None:
    field(OURS, tx, "city", "City")

    with pytest.raises(CustomFieldAlreadyExists):
        field(OURS, tx, key, label)


def test_field_keeps_its_key_when_its_label_changes(tx: Transaction) -> None:
    field_id = field(OURS, tx, "city", "City")
    field(OURS, tx, "street", "Street")

    assert custom_fields.update(OURS, field_id, {"label": "Town"}, tx).key == "city"
    with pytest.raises(CustomFieldAlreadyExists):
        custom_fields.update(OURS, field_id, {"label": "STREET"}, tx)


def test_account_has_at_most_100_fields(tx: Transaction) -> None:
    for number in range(MAX_FIELDS):
        field(OURS, tx, f"k{number}", f"Label {number}")

    with pytest.raises(CustomFieldLimitReached):
        field(OURS, tx)
    field(THEIRS, tx)


def test_key_is_found_by_its_hash_until_it_is_revoked(tx: Transaction) -> None:
    owner = accounts.create_account("a@x.de", tx, verified=False).id
    later = tx.now + 1
    key = accounts.create_key(owner, "key", "write", "hash", tx, expires_at=later)

    assert accounts.identify_any_account("hash", tx) == (owner, key.id, "write", later, False)
    assert accounts.verify_account(owner, tx)
    accounts.rotate_key(owner, key.id, "other", tx)
    assert accounts.identify_any_account("hash", tx) is None
    assert accounts.identify_any_account("other", tx) == (owner, key.id, "write", later, True)
    accounts.revoke_key(owner, key.id, tx)
    assert accounts.identify_any_account("other", tx) is None


def test_verifying_a_missing_account_does_nothing(tx: Transaction) -> None:
    assert not accounts.verify_account(OURS, tx)
    assert accounts.find_account(OURS, tx) is None


def test_branding_is_that_of_one_account(tx: Transaction) -> None:
    owner = accounts.create_account("a@x.de", tx, verified=True, display_name="Letters").id
    other = accounts.create_account("b@x.de", tx, verified=True).id

    updated = accounts.update_account(owner, {"color": "#1a5fb4"}, tx)
    accounts.set_logo(owner, "image/png", b"\x89PNG", tx)
    accounts.set_logo(owner, "image/gif", b"GIF89a\x00", tx)

    assert updated == accounts.find_account(owner, tx)
    assert accounts.branding(owner, tx) == ("Letters", "#1a5fb4", "image/gif", b"GIF89a\x00")
    assert accounts.branding(other, tx) == accounts.branding(OURS, tx) == ("", "", "", b"")
    accounts.set_logo(other, "", b"", tx)
    accounts.set_logo(owner, "", b"", tx)
    assert accounts.branding(owner, tx) == ("Letters", "#1a5fb4", "", b"")
    assert accounts.update_account(OURS, {"color": ""}, tx) is None


def test_stored_response_belongs_to_one_account(tx: Transaction) -> None:
    answers.put(OURS, "key", StoredResponseRow("ours", b"1"), tx)

    assert answers.find(THEIRS, "key", tx) is None
    answers.put(THEIRS, "key", StoredResponseRow("theirs", b"2"), tx)
    assert answers.find(OURS, "key", tx) == ("ours", b"1")
    assert answers.find(THEIRS, "key", tx) == ("theirs", b"2")
