"""API keys: form, checksum and scopes."""

from __future__ import annotations

import re

import pytest

from rosterd.server.features.accounts.rules import allows, is_well_formed, make_secret

WORDS = "rk_RosterRosterRosterRosterRosterRosterRost4JZiMe"


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(WORDS[:-1], id="one short"),
        pytest.param(f"{WORDS}\n", id="line break"),
        pytest.param(WORDS.removeprefix("rk_"), id="no prefix"),
        pytest.param(f"{WORDS[:-1]}f", id="wrong checksum"),
        pytest.param(f"rk_oRster{WORDS[9:]}", id="two letters changed round"),
        pytest.param("rk_" + "٣" * 46, id="digits beyond ASCII"),
        pytest.param(WORDS.replace("R", "-", 1), id="character outside base 62"),
    ],
)
def test_malformed_key_is_rejected(key: str) -> None:
    assert not is_well_formed(key)


def test_generated_key_has_the_documented_form_and_a_valid_checksum() -> None:
    key = make_secret()

    assert re.fullmatch(r"rk_[0-9A-Za-z]{46}", key)
    assert is_well_formed(key)


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ("read", {"read"}),
        ("write", {"read", "write"}),
        ("admin", {"read", "write", "admin"}),
    ],
)
def test_scope_includes_lower_scopes(scope: str, allowed: set[str]) -> None:
    assert {needed for needed in ("read", "write", "admin") if allows(scope, needed)} == allowed
