"""The vault: what is made with one key, for one purpose, fits no other."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.encryption import KEY_BYTES, DecryptionError, Encryption, make_key, parse_key

KEY, OTHER_KEY = bytes(range(KEY_BYTES)), bytes(reversed(range(KEY_BYTES)))
ENCRYPTION = Encryption(KEY)
ACCOUNT, OTHER_ACCOUNT = "0" * 26, "1" * 26
ADDRESS = "ada@example.com"
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def test_digest_is_the_same_for_the_same_in_every_process() -> None:
    # HMAC-SHA256 of the account, NUL and the address, under a key that is the HMAC
    # of the purpose; what is stored already must be recognised by every version.
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
        pytest.param(ENCRYPTION.digest("purpose", ACCOUNT + ADDRESS), id="one part"),
        pytest.param(ENCRYPTION.digest("purpose", ADDRESS, ACCOUNT), id="order of the parts"),
    ],
)
def test_digest_differs_by(other: str) -> None:
    digest = ENCRYPTION.digest("purpose", ACCOUNT, ADDRESS)

    assert digest != other
    assert len(digest) == len(other) == 64


@given(st.lists(WORDS, max_size=3), st.lists(WORDS, max_size=3))
def test_digests_of_different_parts_differ(one: list[str], other: list[str]) -> None:
    same = ENCRYPTION.digest("purpose", *one) == ENCRYPTION.digest("purpose", *other)

    # Without any part the message is that of one empty part.
    assert same == ((one or [""]) == (other or [""]))


@given(st.binary())
def test_what_is_sealed_is_opened_again_and_does_not_show(data: bytes) -> None:
    encrypted = ENCRYPTION.encrypt("purpose", data)

    assert ENCRYPTION.open("purpose", encrypted) == data
    assert len(data) < 4 or data not in encrypted


def test_same_data_is_sealed_differently_each_time() -> None:
    assert len({ENCRYPTION.encrypt("purpose", b"data") for _ in range(100)}) == 100


@pytest.mark.parametrize(
    ("encryption", "purpose"),
    [(Encryption(OTHER_KEY), "purpose"), (ENCRYPTION, "other"), (ENCRYPTION, "")],
    ids=["other key", "other purpose", "no purpose"],
)
def test_what_was_sealed_elsewhere_is_not_opened(encryption: Encryption, purpose: str) -> None:
    with pytest.raises(DecryptionError):
        encryption.open(purpose, ENCRYPTION.encrypt("purpose", b"data"))


@given(st.data())
def test_what_was_changed_is_not_opened(data: st.DataObject) -> None:
    encrypted = bytearray(ENCRYPTION.encrypt("purpose", b"data"))
    encrypted[data.draw(st.integers(0, len(encrypted) - 1))] ^= data.draw(st.integers(1, 255))

    with pytest.raises(DecryptionError):
        ENCRYPTION.open("purpose", bytes(encrypted))


@pytest.mark.parametrize("length", [0, 1, 7, 8, 11, 12, 13, 27, 28, 31])
def test_what_was_cut_off_is_not_opened(length: int) -> None:
    encrypted = ENCRYPTION.encrypt("purpose", b"data")

    assert length < len(encrypted)
    with pytest.raises(DecryptionError):
        ENCRYPTION.open("purpose", encrypted[:length])


@given(st.binary(max_size=100))
def test_garbage_is_not_opened(data: bytes) -> None:
    with pytest.raises(DecryptionError):
        ENCRYPTION.open("purpose", data)


def test_fingerprint_tells_keys_apart_and_shows_nothing_of_them() -> None:
    assert ENCRYPTION.fingerprint() == Encryption(KEY).fingerprint()
    assert ENCRYPTION.fingerprint() != Encryption(OTHER_KEY).fingerprint()
    assert ENCRYPTION.fingerprint() not in KEY.hex()


def test_made_keys_are_keys_and_differ() -> None:
    made = {make_key() for _ in range(100)}

    assert len(made) == 100
    assert {len(parse_key(key) or b"") for key in made} == {KEY_BYTES}


TEXT = base64.b64encode(KEY).decode()


@pytest.mark.parametrize("text", [TEXT, f"{TEXT}\n", f" \t{TEXT} "], ids=ascii)
def test_key_is_read_with_blanks_around(text: str) -> None:
    assert parse_key(text) == KEY


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("\n", id="line break"),
        pytest.param(base64.b64encode(KEY[:-1]).decode(), id="31 bytes"),
        pytest.param(base64.b64encode(KEY + b"x").decode(), id="33 bytes"),
        pytest.param(KEY.hex(), id="hexadecimal"),
        pytest.param(TEXT.rstrip("="), id="no padding"),
        pytest.param(f"{TEXT[:8]} {TEXT[8:]}", id="blank within"),
        pytest.param(f"{TEXT[:8]}\n{TEXT[8:]}", id="line break within"),
        pytest.param(f"{TEXT[:-2]}é=", id="letter outside base64"),
        pytest.param(f"{TEXT}{TEXT}", id="twice"),
        pytest.param("\ud800", id="surrogate"),
    ],
)
def test_what_is_no_key_is_none(text: str) -> None:
    assert parse_key(text) is None


def test_vault_that_is_given_its_key_later_is_the_same() -> None:
    encryption = Encryption()
    encryption.set_key(KEY)

    assert encryption.fingerprint() == ENCRYPTION.fingerprint()
