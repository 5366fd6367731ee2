"""API keys: form, checksum and scopes."""

from __future__ import annotations

import pytest

from rosterd.server.features.accounts.rules import is_well_formed

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
