"""Settings: names, defaults and validation."""

from __future__ import annotations

from pathlib import Path

import pytest

from rosterd.server.config import (
    SECRETS,
    SETTINGS,
    Rate,
    SettingError,
    Settings,
    read_secret_files,
    unknown_variables,
)
from rosterd.server.features.accounts.rules import is_well_formed
from rosterd.server.serving.options import check_core
from rosterd.server.values.database_url import PostgresUrl, parse_database_url


@pytest.mark.parametrize(
    ("environment", "default"),
    [
        ("ROSTER_HTTP_ADDRESS", "127.0.0.1:8080"),
        ("ROSTER_GRPC_ADDRESS", "127.0.0.1:50051"),
        ("ROSTER_DATABASE_URL", "sqlite:///data/roster.db"),
        ("ROSTER_DATABASE_POOL", "8"),
        ("ROSTER_BOOTSTRAP_API_KEY", ""),
        ("ROSTER_RATE_LIMIT", "off"),
    ],
)
def test_setting_has_the_documented_name_and_default(environment: str, default: str) -> None:
    assert {row.environment: row.default for row in SETTINGS.values()}[environment] == default


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///data/roster.db", "data/roster.db"),
        ("sqlite:////var/lib/roster.db", "/var/lib/roster.db"),
        ("sqlite:///with%20blank.db", "with blank.db"),
    ],
)
def test_database_url_names_a_file(url: str, path: str) -> None:
    assert parse_database_url(url) == Path(path)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:sesame@db.local:5433/roster", "postgresql://ada@db.local:5433/roster"),
        ("postgres://ada@db.local/roster?sslmode=require", "postgres://ada@db.local/roster"),
        ("postgresql:///roster?host=/run/postgresql&password=sesame", "postgresql:///roster"),
        ("postgresql://ada:se:s@me@[::1]/roster", "postgresql://ada@[::1]/roster"),
    ],
)
def test_database_url_of_a_server_is_printed_without_its_password(url: str, shown: str) -> None:
    location = parse_database_url(url)

    assert location == PostgresUrl(url)
    assert str(location) == shown


def test_malformed_database_url_is_reported_without_its_password() -> None:
    with pytest.raises(SettingError) as caught:
        Settings.database_url.parse("mysql://ada:sesame@host/roster")

    assert "mysql://ada" in str(caught.value)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "0", "1", "101", "-3", "8.0", "many", "\u0664"])
def test_invalid_number_of_connections_is_rejected_with_the_name_of_the_setting(text: str) -> None:
    assert [Settings.database_pool.parse(each) for each in ("2", "100")] == [2, 100]
    with pytest.raises(SettingError, match="ROSTER_DATABASE_POOL"):
        Settings.database_pool.parse(text)


@pytest.mark.parametrize(
    "url",
    ["", "roster.db", "sqlite:///", "sqlite://roster.db", "mysql://host/db", "sqlite:///a.db?x=1"],
)
def test_malformed_database_url_is_rejected_with_the_name_of_the_setting(url: str) -> None:
    with pytest.raises(SettingError, match="ROSTER_DATABASE_URL"):
        Settings.database_url.parse(url)


def test_malformed_bootstrap_key_is_rejected_with_a_valid_example() -> None:
    with pytest.raises(SettingError, match="ROSTER_BOOTSTRAP_API_KEY") as caught:
        check_core("serve", Settings({"bootstrap_api_key": "secret"}))
    assert is_well_formed(str(caught.value).split()[-1])


def test_rejected_bootstrap_key_is_not_repeated() -> None:
    with pytest.raises(SettingError) as caught:
        check_core("serve", Settings({"bootstrap_api_key": "rk_mistyped"}))
    assert "mistyped" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("off", None),
        ("100/1", Rate(100, 1)),
        ("5000/60", Rate(5000, 60)),
        ("1/86400", Rate(1, 86_400)),
    ],
)
def test_rate_limit_is_calls_per_seconds(text: str, rate: Rate | None) -> None:
    assert Settings.rate_limit.parse(text) == rate


@pytest.mark.parametrize(
    "text",
    ["100", "100/", "/1", "0/1", "1/0", "-1/1", "1.5/1", "100/1s", " 100/1", "1/86401", "1/1/1"],
)
def test_malformed_rate_limit_is_rejected_with_a_valid_example(text: str) -> None:
    with pytest.raises(SettingError, match="ROSTER_RATE_LIMIT must be CALLS/SECONDS, such as"):
        Settings.rate_limit.parse(text)


@pytest.mark.parametrize("name", [name for name, row in SETTINGS.items() if " off: " in row.help])
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


@pytest.mark.parametrize("words", ["true TRUE 1 yes Yes on ON", "false False 0 no NO off Off"])
def test_boolean_has_several_words(words: str) -> None:
    is_true = words.startswith("true")

    assert [Settings.webhook_allow_http.parse(word) for word in words.split()] == [is_true] * 7


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
