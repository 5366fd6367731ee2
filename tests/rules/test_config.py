"""Settings: their names, and what their values may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.accounts.rules import is_well_formed, make_secret
from server.config import (
    SETTINGS,
    PostgresUrl,
    Rate,
    SettingError,
    check_bootstrap_key,
    check_choice,
    parse_boolean,
    parse_database_pool,
    parse_database_url,
    parse_rate_limit,
    parse_workers,
    unknown_variables,
)


@pytest.mark.parametrize(
    ("environment", "default"),
    [
        ("ROSTER_HTTP_ADDRESS", "127.0.0.1:8080"),
        ("ROSTER_GRPC_ADDRESS", "127.0.0.1:50051"),
        ("ROSTER_DATABASE_URL", "sqlite:///data/roster.db"),
        ("ROSTER_DATABASE_POOL", "8"),
        ("ROSTER_BOOTSTRAP_API_KEY", ""),
        ("ROSTER_RATE_LIMIT", ""),
    ],
)
def test_setting_has_the_documented_name_and_default(environment: str, default: str) -> None:
    assert {row.environment: row.default for row in SETTINGS.values()}[environment] == default


def test_setting_is_a_flag_too() -> None:
    assert SETTINGS["http_address"].flag == "--http-address"


@pytest.mark.parametrize("name", SETTINGS)
def test_setting_is_explained_in_a_sentence(name: str) -> None:
    assert SETTINGS[name].help.endswith(".")


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
def test_database_url_names_a_server_and_is_shown_without_its_password(
    url: str, shown: str
) -> None:
    place = parse_database_url(url)

    assert place == PostgresUrl(url)
    assert str(place) == shown


def test_malformed_database_url_is_reported_without_its_password() -> None:
    with pytest.raises(SettingError) as caught:
        parse_database_url("mysql://ada:sesame@host/roster")

    assert "mysql://ada" in str(caught.value)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(("text", "number"), [("2", 2), ("8", 8), ("100", 100)])
def test_number_of_connections_is_from_2_to_100(text: str, number: int) -> None:
    assert parse_database_pool(text) == number


@pytest.mark.parametrize("text", ["", "0", "1", "101", "-3", "8.0", "many", "\u0664"])
def test_other_number_of_connections_is_refused_and_the_setting_named(text: str) -> None:
    with pytest.raises(SettingError, match="ROSTER_DATABASE_POOL"):
        parse_database_pool(text)


@pytest.mark.parametrize(
    "url",
    ["", "roster.db", "sqlite:///", "sqlite://roster.db", "mysql://host/db", "sqlite:///a.db?x=1"],
)
def test_malformed_database_url_is_refused_and_the_setting_named(url: str) -> None:
    with pytest.raises(SettingError, match="ROSTER_DATABASE_URL"):
        parse_database_url(url)


def test_bootstrap_key_may_be_empty_or_well_formed() -> None:
    key = make_secret()

    assert check_bootstrap_key("") == ""
    assert check_bootstrap_key(key) == key


def test_malformed_bootstrap_key_is_refused_with_one_that_would_do() -> None:
    with pytest.raises(SettingError, match="ROSTER_BOOTSTRAP_API_KEY") as caught:
        check_bootstrap_key("secret")
    assert is_well_formed(str(caught.value).split()[-1])


def test_refused_bootstrap_key_is_not_repeated() -> None:
    with pytest.raises(SettingError) as caught:
        check_bootstrap_key("rk_mistyped")
    assert "mistyped" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("", None),
        ("100/1", Rate(100, 1)),
        ("5000/60", Rate(5000, 60)),
        ("1/86400", Rate(1, 86_400)),
    ],
)
def test_rate_limit_is_calls_in_so_many_seconds(text: str, rate: Rate | None) -> None:
    assert parse_rate_limit(text) == rate


@pytest.mark.parametrize(
    "text",
    ["100", "100/", "/1", "0/1", "1/0", "-1/1", "1.5/1", "100/1s", " 100/1", "1/86401", "1/1/1"],
)
def test_malformed_rate_limit_is_refused_with_one_that_would_do(text: str) -> None:
    with pytest.raises(SettingError, match="ROSTER_RATE_LIMIT must be CALLS/SECONDS, such as"):
        parse_rate_limit(text)


def test_choice_is_one_of_those_named() -> None:
    assert check_choice("log_level", "info", ("info", "error")) == "info"
    with pytest.raises(SettingError, match=r"ROSTER_LOG_LEVEL .* info, error"):
        check_choice("log_level", "loud", ("info", "error"))


@pytest.mark.parametrize("text", ["1", "2", "64"])
def test_workers_are_counted(text: str) -> None:
    assert parse_workers(text) == int(text)


@pytest.mark.parametrize("text", ["", "0", "65", "-1", "two", "1.5"])
def test_no_or_too_many_workers_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="ROSTER_WORKERS must be a number from 1 to 64"):
        parse_workers(text)


@pytest.mark.parametrize("text", ["true", "TRUE", "1", "yes", "Yes", "on", "ON"])
def test_boolean_may_be_true(text: str) -> None:
    assert parse_boolean("webhook_allow_http", text)


@pytest.mark.parametrize("text", ["false", "False", "0", "no", "NO", "off", "Off"])
def test_boolean_may_be_false(text: str) -> None:
    assert not parse_boolean("webhook_allow_http", text)


@pytest.mark.parametrize("text", ["", "maybe", "2", "y", "tru", " true"])
def test_other_words_are_no_boolean(text: str) -> None:
    with pytest.raises(SettingError, match="ROSTER_WEBHOOK_ALLOW_HTTP must be true or false"):
        parse_boolean("webhook_allow_http", text)


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("ROSTER_HTTP_ADRESS", "ROSTER_HTTP_ADDRESS"),
        ("ROSTER_DATABASE", "ROSTER_DATABASE_URL"),
        ("ROSTER_APIKEY", "ROSTER_API_KEY"),
        ("ROSTER_PORT", None),
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
        ("ROSTER_SERVICE_PORT", "8080"),
        ("ROSTER_SERVICE_PORT_HTTP", "8080"),
        ("ROSTER_PORT", "tcp://10.0.0.1:8080"),
        ("ROSTER_GRPC_PORT_50051_TCP", "tcp://10.0.0.1:50051"),
        ("ROSTER_GRPC_PORT_50051_TCP_ADDR", "10.0.0.1"),
    ],
)
def test_variable_that_kubernetes_sets_is_not_reported(name: str, value: str) -> None:
    assert unknown_variables({name: value}) == {}
