"""Settings: names, defaults and validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rosterd.server.config import SETTINGS, Rate, SettingError, Settings
from rosterd.server.features.accounts.rules import is_well_formed
from rosterd.server.serving.environment import SECRETS, read_secret_files, unknown_variables
from rosterd.server.serving.options import check_core
from rosterd.server.values.addresses import Address
from rosterd.server.values.database_url import PostgresUrl

from ..cases import each

VALUES: dict[str, dict[str, Any]] = {
    "grpc_address": {
        text: Address(host, port)
        for text, host, port in (
            ("127.0.0.1:8080", "127.0.0.1", 8080),
            ("localhost:0", "localhost", 0),
            ("0.0.0.0:65535", "0.0.0.0", 65_535),
            ("[::1]:8080", "::1", 8080),
        )
    },
    "database_url": {
        "sqlite:///data/roster.db": Path("data/roster.db"),
        "sqlite:////var/lib/roster.db": Path("/var/lib/roster.db"),
        "sqlite:///with%20blank.db": Path("with blank.db"),
        "postgres://ada@db.local/roster": PostgresUrl("postgres://ada@db.local/roster"),
    },
    "database_pool": {"2": 2, "100": 100},
    "rate_limit": {"off": None, "100/1": Rate(100, 1), "1/86400": Rate(1, 86_400)},
    "webhook_allow_http": {
        **dict.fromkeys(("true", "TRUE", "1", "yes", "Yes", "on", "ON"), True),
        **dict.fromkeys(("false", "False", "0", "no", "NO", "off", "Off"), False),
    },
}


@each("name", [*VALUES])
def test_text_of_a_setting_has_a_value(name: str) -> None:
    assert {text: SETTINGS[name].parse(text) for text in VALUES[name]} == VALUES[name]


# The beginning of the message, and texts with this error.
REJECTED = {
    "grpc_address": (
        "",
        ["", "8080", ":8080", "localhost", "localhost:", "localhost:x", "localhost:65536", "::1:1"],
    ),
    "database_url": (
        "",
        ["", "roster.db", "sqlite:///", "sqlite://roster.db", "mysql://h/db", "sqlite:///a.db?x=1"],
    ),
    "database_pool": ("", ["", "0", "1", "101", "-3", "8.0", "many", "\u0664"]),
    "rate_limit": (
        "must be CALLS/SECONDS, such as",
        ["100", "100/", "/1", "0/1", "1/0", "-1/1", "1.5/1", "1/1s", " 1/1", "1/86401", "1/1/1"],
    ),
    "upstream": (
        "must be",
        [
            *("", "roster:0", "dns:///", "http://roster:50051", "xds:///roster:1"),
            *("roster:1,roster:2", "ipv4:10.0.0.2:1,"),
        ],
    ),
}


@each("name", [*REJECTED])
def test_other_text_is_rejected_with_the_name_of_the_setting(name: str) -> None:
    reason, texts = REJECTED[name]
    for text in texts:
        with pytest.raises(SettingError, match=f"^ROSTER_{name.upper()} {reason}"):
            SETTINGS[name].parse(text)


@each(
    ("url", "shown"),
    [
        ("postgresql://ada:sesame@db.local:5433/roster", "postgresql://ada@db.local:5433/roster"),
        ("postgres://ada@db.local/roster?sslmode=require", "postgres://ada@db.local/roster"),
        ("postgresql:///roster?host=/run/postgresql&password=sesame", "postgresql:///roster"),
        ("postgresql://ada:se:s@me@[::1]/roster", "postgresql://ada@[::1]/roster"),
    ],
)
def test_database_url_is_printed_without_its_password(url: str, shown: str) -> None:
    assert str(Settings.database_url.parse(url)) == shown
    with pytest.raises(SettingError) as caught:
        Settings.database_url.parse("mysql://ada:sesame@host/roster")
    assert "mysql://ada" in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_malformed_bootstrap_key_is_rejected_with_a_valid_example_and_not_repeated() -> None:
    with pytest.raises(SettingError, match="ROSTER_BOOTSTRAP_API_KEY") as caught:
        check_core("serve", Settings({"bootstrap_api_key": "rk_mistyped"}))
    assert "mistyped" not in str(caught.value)
    assert is_well_formed(str(caught.value).split()[-1])


@each("name", [name for name, row in SETTINGS.items() if " off: " in row.help])
def test_setting_that_can_be_off_rejects_other_words_for_it(name: str) -> None:
    row = SETTINGS[name]

    assert row.parse("off") in (None, "", "off", (), frozenset())
    with pytest.raises(SettingError, match=rf"^{row.environment} must be .* use off\.$"):
        row.parse("")


def test_empty_is_the_default_only_of_settings_without_off() -> None:
    assert {name for name, row in SETTINGS.items() if not row.default} == {
        "bootstrap_api_key",
        "secret_key",
        "public_url",
        "http_tls_key",
        "grpc_tls_key",
        "metrics_tls_key",
        "upstream_tls_key",
    }


@pytest.mark.parametrize("name", SECRETS)
def test_secret_is_read_from_its_file_without_whitespace_at_the_end(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "secret").write_text(" value \n\n")
    environment = {f"{name}_FILE": str(tmp_path / "secret"), "ROSTER_HTTP_TLS_KEY_FILE": "x"}

    read_secret_files(environment)

    assert environment == {name: " value", "ROSTER_HTTP_TLS_KEY_FILE": "x"}


@pytest.mark.parametrize(
    ("content", "more", "message"),
    [
        (b"value", {"ROSTER_API_KEY": "other"}, "ROSTER_API_KEY and .*_FILE are both set"),
        (b"\n", {}, "ROSTER_API_KEY_FILE: .*/secret must contain text"),
        (b"\xff", {}, "must contain text"),
        (b"a\0b", {}, "must contain text"),
        (b"a" * 10_001, {}, "at most 10,000 characters"),
        (None, {}, "ROSTER_API_KEY_FILE: .*/secret cannot be read: No such file"),
    ],
    ids=["both", "empty", "bytes", "nul", "long", "missing"],
)
def test_file_without_a_secret_is_rejected(
    tmp_path: Path, content: bytes | None, more: dict[str, str], message: str
) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(SettingError, match=message):
        read_secret_files({"ROSTER_API_KEY_FILE": str(file), **more})


@each(
    ("name", "similar"),
    [
        ("ROSTER_HTTP_ADRESS", "ROSTER_HTTP_ADDRESS"),
        ("ROSTER_DATABASE", "ROSTER_DATABASE_URL"),
        ("ROSTER_APIKEY", "ROSTER_API_KEY"),
        ("ROSTER_HTTP_PORT", "ROSTER_HTTP_ADDRESS"),
        ("ROSTER_GRPC_LISTEN", "ROSTER_GRPC_ADDRESS"),
        ("ROSTER_DB_URL", "ROSTER_DATABASE_URL"),
        ("ROSTER_COLOR", None),
    ],
)
def test_unknown_variable_is_found_with_the_most_similar_setting(
    name: str, similar: str | None
) -> None:
    known = {row.environment: "x" for row in SETTINGS.values()}

    assert unknown_variables({**known, "ROSTER_API_KEY": "x", "HOME": "/", name: "8080"}) == {
        name: similar
    }


@each(
    ("name", "value"),
    [
        ("ROSTER_SERVICE_HOST", "10.0.0.1"),
        ("ROSTER_SERVICE_PORT_HTTP", "8080"),
        ("ROSTER_PORT", "tcp://10.0.0.1:8080"),
        ("ROSTER_GRPC_PORT_50051_TCP_ADDR", "10.0.0.1"),
    ],
)
def test_variable_that_kubernetes_sets_is_not_reported(name: str, value: str) -> None:
    assert unknown_variables({name: value}) == {}
