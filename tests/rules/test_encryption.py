"""Encryption and digests: each key and purpose has its own results."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosterd.server.security.encryption import (
    KEY_BYTES,
    DecryptionError,
    Encryption,
    parse_key,
)

KEY, OTHER_KEY = bytes(range(KEY_BYTES)), bytes(reversed(range(KEY_BYTES)))
ENCRYPTION = Encryption(KEY)
ACCOUNT, OTHER_ACCOUNT = "0" * 26, "1" * 26
ADDRESS = "ada@example.com"
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def test_digest_is_stable_across_versions() -> None:
    # HMAC-SHA256 of the account, NUL and the address. The key is an HMAC of the purpose. Every
    # version must match the digests that earlier versions stored.
    assert ENCRYPTION.digest("suppression", ACCOUNT, ADDRESS) == (
        "9d81e058a1af62a2ceb6b044d7704a9edcabfaaccfd3cf3386a49fab80cfbc03"
    )


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Encryption(OTHER_KEY).digest("purpose", ACCOUNT, ADDRESS), id="key"),
        pytest.param(ENCRYPTION.digest("other", ACCOUNT, ADDRESS), id="purpose"),
        pytest.param(ENCRYPTION.digest("purpose", OTHER_ACCOUNT, ADDRESS), id="account"),
        pytest.param(ENCRYPTION.digest("purpose", ACCOUNT, f"{ADDRESS} "), id="address"),
        pytest.param(ENCRYPTION.digest("purpose", ADDRESS, ACCOUNT), id="order of the parts"),
    ],
)
def test_digest_depends_on(other: str) -> None:
    digest = ENCRYPTION.digest("purpose", ACCOUNT, ADDRESS)

    assert digest != other
    assert len(digest) == len(other) == 64


@given(st.binary())
def test_encrypted_data_is_decrypted_and_does_not_contain_the_plaintext(data: bytes) -> None:
    encrypted = ENCRYPTION.encrypt("purpose", data)

    assert ENCRYPTION.open("purpose", encrypted) == data
    assert len(data) < 4 or data not in encrypted


@pytest.mark.parametrize(
    ("encryption", "purpose"),
    [(Encryption(OTHER_KEY), "purpose"), (ENCRYPTION, "other"), (ENCRYPTION, "")],
    ids=["other key", "other purpose", "no purpose"],
)
def test_another_key_or_purpose_does_not_decrypt(encryption: Encryption, purpose: str) -> None:
    with pytest.raises(DecryptionError):
        encryption.open(purpose, ENCRYPTION.encrypt("purpose", b"data"))


@given(st.data())
def test_modified_data_is_not_decrypted(data: st.DataObject) -> None:
    encrypted = bytearray(ENCRYPTION.encrypt("purpose", b"data"))
    encrypted[data.draw(st.integers(0, len(encrypted) - 1))] ^= data.draw(st.integers(1, 255))

    with pytest.raises(DecryptionError):
        ENCRYPTION.open("purpose", bytes(encrypted))


TEXT = base64.b64encode(KEY).decode()


@pytest.mark.parametrize("text", [TEXT, f"{TEXT}\n", f" \t{TEXT} "], ids=ascii)
def test_key_is_parsed_with_surrounding_whitespace(text: str) -> None:
    assert parse_key(text) == KEY


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(base64.b64encode(KEY[:-1]).decode(), id="31 bytes"),
        pytest.param(base64.b64encode(KEY + b"x").decode(), id="33 bytes"),
        pytest.param(TEXT.rstrip("="), id="no padding"),
        pytest.param(f"{TEXT[:8]} {TEXT[8:]}", id="space inside"),
        pytest.param(f"{TEXT[:-2]}é=", id="letter outside base64"),
    ],
)
def test_invalid_key_is_none(text: str) -> None:
    assert parse_key(text) is None
