"""What every rpc has in common, checked for each of them as its descriptor declares it: keys and
scopes, isolation of accounts, bounds, characters, JSON types, pages and bodies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor

from roster.v1 import http_pb2, subscribers_pb2
from rosterd.http_gateway.codec.fields import rules_of
from rosterd.http_gateway.openapi.bounds import is_required
from rosterd.server.rpc.interceptors.bounds import has_independent_items

from ..cases import each
from ..conftest import Account, new_account
from ..fronts import (
    METHODS,
    UNARY,
    Front,
    HttpFront,
    binding,
    header_fields,
    path_variables,
    query_fields,
    raw_body,
)
from ..processes import Service
from .helpers import MISSING_ID, create_subscriber, emails, error_of, over_http, send
from .requests import (
    CREATES,
    LISTS,
    REFERENCES,
    REQUESTS,
    all_lists,
    create_all,
    resource_type,
    with_path,
)

STRING = FieldDescriptor.TYPE_STRING
SCOPES = ("signup", "read", "write", "admin")
SCOPE_OF = {
    rpc: access.scope
    for rpc, method in UNARY.items()
    if not (access := method.GetOptions().Extensions[http_pb2.access]).public
}
# Every field of a request that is not in the path.
FIELDS = {
    f"{rpc}.{field.json_name}": (rpc, field)
    for rpc, method in UNARY.items()
    for field in method.input_type.fields
    if field.json_name not in path_variables(rpc)
}
# Headers cannot contain control characters. Items that fail alone are reported in the response.
TEXTS = {
    name: (rpc, field)
    for name, (rpc, field) in FIELDS.items()
    if field.type == STRING
    and not field.GetOptions().Extensions[http_pb2.header]
    and not has_independent_items(field)
}


# Keys and scopes


@each("rpc", sorted(SCOPE_OF))
def test_key_is_required(account: Account, rpc: str) -> None:
    error = account.front.call(rpc, None, with_path(rpc))

    assert (error.status, error.code) == (401, "Unauthorized")


@pytest.mark.parametrize("scope", SCOPES)
def test_key_cannot_call_operations_above_its_scope(account: Account, scope: str) -> None:
    limited = account.with_key(account.new_key(scope))
    for rpc, needed in SCOPE_OF.items():
        is_above = SCOPES.index(needed) > SCOPES.index(scope)
        if is_above or (scope, needed) == ("read", "signup"):
            assert limited.fails("Forbidden", rpc, **with_path(rpc)).status == 403, rpc


# Isolation

# Their tests use one account; the store tests compare the accounts.
OTHERS = {
    *("BatchChangeSubscribers", "GetStatistics", "GetDailyStatistics"),
    *("GetAccount", "UpdateAccount", "SignUp"),
    *("SignIn", "GetCurrentSession", "SignOut", "SignOutEverywhere"),
}


@dataclass
class OtherAccount:
    """An account with a resource of every type, their references, and its lists."""

    account: Account
    references: dict[str, str]
    before: dict[str, Any]


@pytest.fixture(scope="module")
def other(front_and_service: tuple[Front, Service]) -> OtherAccount:
    """Another account, which no test changes."""
    front, service = front_and_service
    account = new_account(service, front)
    return OtherAccount(account, create_all(account), all_lists(account))


@pytest.mark.each_database
def test_resource_of_another_account_and_missing_resource_return_the_same_error(
    account: Account, other: OtherAccount
) -> None:
    errors = {}
    for rpc, name in REFERENCES.items():
        theirs = other.references[resource_type(rpc)]
        errors[rpc] = [
            error_of(account.call(rpc, **{name: reference}, **REQUESTS.get(rpc, {})))
            for reference in (theirs, MISSING_ID)
        ]

    assert {rpc: both for rpc, both in errors.items() if both[0] != both[1]} == {}
    assert {status for both in errors.values() for status, _ in both} == {404}
    assert all_lists(other.account) == other.before


def test_every_path_names_its_resource_by_the_variable_id() -> None:
    # A link has a token, and a suppression an address.
    others = [rpc for rpc in METHODS if "/suppressions/" in binding(rpc)[1]]
    named = {name for rpc in METHODS if rpc not in others for name in path_variables(rpc)}
    assert named == {"id", "token"}


def test_isolation_cases_cover_every_operation() -> None:
    # test_subscribers_read.py reads several subscribers of another account.
    assert UNARY.keys() == {*LISTS, *CREATES, *REFERENCES, "BatchGetSubscribers", *OTHERS}


@pytest.mark.each_database
def test_names_and_lists_of_two_accounts_are_independent(
    account: Account, other: OtherAccount
) -> None:
    empty = all_lists(account)
    assert {body["total"] for rpc, body in empty.items() if rpc != "ListApiKeys"} == {0}
    for rpc in CREATES:
        failed = account.ok(rpc, **REQUESTS[rpc]).get("failed", [])
        assert 0 not in {row["index"] for row in failed}

    assert all_lists(other.account) == other.before


def test_key_acts_only_for_its_own_account(account: Account, other_account: Account) -> None:
    through = account.with_key(other_account.key)

    through.ok("CreateSubscriber", email="ada@example.com")

    assert (emails(account), emails(other_account)) == ([], ["ada@example.com"])


# Bounds


def beyond_bounds() -> Iterator[tuple[str, str, Any, tuple[str, str]]]:
    """Yields rpcs, fields and values beyond their bounds, each with its violation."""
    for rpc, field in FIELDS.values():
        rules, name = rules_of(field), field.json_name
        if is_required(field):
            yield rpc, name, None, (name, "TOO_FEW" if field.is_repeated else "REQUIRED")
        if field.is_repeated:
            if field.type == STRING and (most := rules.repeated.items.string.max_len):
                yield rpc, name, ["x", "x" * (most + 1)], (f"{name}[1]", "TOO_LONG")
            if field.type == STRING and (most := rules.repeated.max_items):
                yield rpc, name, ["x"] * (most + 1), (name, "TOO_MANY")
        elif most := field.type == STRING and rules.string.max_len:
            yield rpc, name, "x" * (most + 1), (name, "TOO_LONG")
        elif field.type == FieldDescriptor.TYPE_INT32:
            yield rpc, name, -1, (name, "OUT_OF_RANGE")
        elif field.type == FieldDescriptor.TYPE_ENUM:
            yield rpc, name, 99, (name, "INVALID_VALUE")


@each(("rpc", "name", "value", "violation"), beyond_bounds())
def test_value_beyond_the_declared_bounds_is_rejected_before_the_lookup(
    account: Account, rpc: str, name: str, value: Any, violation: tuple[str, str]
) -> None:
    request = {**REQUESTS.get(rpc, {}), **with_path(rpc)}
    request |= {name: value} if value is not None else {}
    if value is None:
        request.pop(name, None)

    error = account.fails("ValidationError", rpc, **request)

    header = "" if account.front.name == "grpc" else header_fields(rpc).get(name, "")
    assert error.status == 400
    assert (header or violation[0], violation[1]) in error.violations


# Characters


@each(("rpc", "text"), TEXTS)
def test_control_characters_are_rejected_in_every_text_field(
    account: Account, rpc: str, text: FieldDescriptor
) -> None:
    options = text.GetOptions().Extensions
    path = f"{text.json_name}[0]" if text.is_repeated else text.json_name
    invalid = ["a\0b@example.com", "a\x7fb@example.com"]
    breaks = "\n\x85\u2028"
    invalid += [] if options[http_pb2.multiline] else [f"a{each}b@example.com" for each in breaks]
    invalid += ["\x1fa"] if options[http_pb2.trimmed] else []
    for value in invalid:
        request = {**with_path(rpc), text.json_name: [value] if text.is_repeated else value}

        error = account.fails("ValidationError", rpc, **request)

        assert error.status == 400
        assert (path, "INVALID_CHARACTER") in error.violations, repr(value)


# JSON types


def wrong_values(field: FieldDescriptor) -> list[Any]:
    """Returns values of a JSON type or format that a field rejects."""
    if field.is_repeated:
        return [7, "x", {}]
    if field.type == STRING:
        return [7, True, {}, []]
    if field.type == FieldDescriptor.TYPE_BYTES:
        return [7, "=", {}]
    if field.type == FieldDescriptor.TYPE_BOOL:
        is_boolean_like = field.GetOptions().Extensions[http_pb2.boolean_like]
        return [2, "maybe", "", {}] if is_boolean_like else [1, 0, "true", "False", "yes", {}]
    if field.type == FieldDescriptor.TYPE_DOUBLE:
        return [True, "x", {}]
    if field.type == FieldDescriptor.TYPE_INT32:
        return [1.5, True, "x", {}]
    if field.type == FieldDescriptor.TYPE_ENUM:
        return [1.5, True, "NO_SUCH_VALUE", {}]
    if field.message_type.full_name in (
        "google.protobuf.Struct",
        "roster.v1.BatchAction",
        "roster.v1.ImportOptions",
    ):
        return [7, "x", []]
    assert field.message_type.full_name == "google.protobuf.Timestamp"
    return [7, "yesterday", "2026-02-30T00:00:00Z", {}]


FLAGS = {
    name: (rpc, field)
    for name, (rpc, field) in FIELDS.items()
    if field.type == FieldDescriptor.TYPE_BOOL
}
FLAGS_IN_QUERY = {
    name: (rpc, field.json_name)
    for name, (rpc, field) in FLAGS.items()
    if not binding(rpc)[2] or field.json_name in query_fields(rpc)
}


def test_only_is_confirmed_is_boolean_like() -> None:
    assert {
        field.name
        for _, field in FLAGS.values()
        if field.GetOptions().Extensions[http_pb2.boolean_like]
    } == {"is_confirmed"}


@over_http
@each(("rpc", "flag"), FLAGS_IN_QUERY)
def test_flag_in_a_query_is_true_or_false(account: Account, rpc: str, flag: str) -> None:
    method, path, has_body = binding(rpc)
    path = path.format(**with_path(rpc))
    for text in ("1", "yes", "True", "on", ""):
        response = send(account, method, f"{path}?{flag}={text}", b"{}" if has_body else None)

        assert response.violations == [(flag, "INVALID_TYPE")], text


WITH_BODY = [rpc for rpc in UNARY if binding(rpc)[2] and raw_body(rpc) is None]
IN_BODY = {
    rpc: [
        field
        for owner, field in FIELDS.values()
        if owner == rpc
        and field.name != "update_mask"
        and not field.GetOptions().Extensions[http_pb2.in_query]
        and not field.GetOptions().Extensions[http_pb2.header]
    ]
    for rpc in WITH_BODY
}
ROW_FIELDS = {
    field.json_name: field
    for field in subscribers_pb2.BulkSubscriber.DESCRIPTOR.fields
    if not field.GetOptions().Extensions[http_pb2.row_faults]
}


@over_http
@each("rpc", WITH_BODY)
def test_wrong_json_types_are_reported_by_their_paths(account: Account, rpc: str) -> None:
    fields = IN_BODY[rpc]
    for field in fields:
        for value in wrong_values(field):
            response = account.fails(
                "ValidationError", rpc, **with_path(rpc), **{field.json_name: value}
            )
            assert [path for path, _ in response.violations] == [field.json_name], value
    wrong = {field.json_name: wrong_values(field)[-1] for field in fields}

    response = account.fails("ValidationError", rpc, **with_path(rpc), **wrong)

    assert [path for path, _ in response.violations] == [field.json_name for field in fields]


@over_http
@each("field", ROW_FIELDS)
def test_wrong_json_type_in_a_row_fails_only_that_row(
    account: Account, field: FieldDescriptor
) -> None:
    wrong = wrong_values(field) + ([[7], [None]] if field.is_repeated else [])
    for number, value in enumerate(wrong):
        bad = {"email": "bad@example.com", field.json_name: value}
        rows = [bad, {"email": f"{number}.{field.name}@b.io"}]
        failed = account.ok("BulkCreateSubscribers", subscribers=rows)["failed"]
        email = "" if field.name == "email" and not isinstance(value, str) else "bad@example.com"
        assert failed == [{"index": 0, "email": email, "reason": "INVALID_FIELD"}], value


@over_http
@each("rpc", WITH_BODY)
def test_unknown_key_is_rejected(account: Account, rpc: str) -> None:
    response = account.fails("ValidationError", rpc, **with_path(rpc), nothing=1)

    assert ("nothing", "UNKNOWN_FIELD") in response.violations


# Bodies

WITHOUT_BODY = sorted(rpc for rpc in METHODS if not binding(rpc)[2])


@over_http
@each("rpc", WITHOUT_BODY)
def test_operation_without_a_body_accepts_only_an_empty_one(account: Account, rpc: str) -> None:
    method, path, _ = binding(rpc)
    for variable in path_variables(rpc):
        path = path.replace(f"{{{variable}}}", MISSING_ID)
    for body in (b"garbage", b'{"id": "x"}', b"[]", b" ", b"\xff\xfe{\x00}\x00"):
        refused = send(account, method, path, body)
        assert (refused.status, refused.code) == (400, "ValidationError"), body
    headers = {"Content-Type": "text/plain"}
    assert send(account, method, path, b"{}", headers=headers).status == 415
    if rpc in UNARY:
        # An empty body has no type that could be wrong.
        empty = send(account, method, path, b"", headers=headers)
        assert empty.status in (200, 204, 404)
        assert send(account, method, path, b" { } \n").status == empty.status


# Pages and IDs

ALL_LISTS = sorted(rpc for rpc in UNARY if rpc.startswith("List"))
INVALID_NUMBERS = ("abc", "1.5", "1e1", "", "%201", "%2B1", "0x10", "1%00", str(2**31), str(2**64))


@pytest.fixture
def parents(account: Account) -> dict[str, dict[str, str]]:
    """The path variables of each list in an account with a subscriber and a webhook."""
    webhook = account.ok("CreateWebhook", **REQUESTS["CreateWebhook"])["webhook"]
    subscriber = create_subscriber(account, tags=["vip"])
    return {
        rpc: dict.fromkeys(
            path_variables(rpc), (subscriber if "Subscriber" in rpc else webhook)["id"]
        )
        for rpc in ALL_LISTS
    }


@each("rpc", ALL_LISTS)
def test_pages_have_defaults_and_do_not_overflow(
    account: Account, parents: dict[str, dict[str, str]], rpc: str
) -> None:
    of = parents[rpc]
    for name in ("limit", "page"):
        response = account.fails("ValidationError", rpc, **{name: -1}, **of)
        assert response.violations == [(name, "OUT_OF_RANGE")]

    body = account.ok(rpc, limit=0, page=0, **of)
    last = account.ok(rpc, limit=2**31 - 1, page=2**31 - 1, **of)

    assert body == account.ok(rpc, **of)
    assert (body["limit"], body["page"]) == (20, 1)
    items = next(value for value in last.values() if isinstance(value, list))
    assert (items, last["limit"], last["page"]) == ([], 100, 2**31 - 1)


@over_http
@each("name", ["limit", "page"])
@each("rpc", ALL_LISTS)
def test_limit_and_page_accept_only_integers(
    account: Account, parents: dict[str, dict[str, str]], rpc: str, name: str
) -> None:
    path = binding(rpc)[1].format(**parents[rpc])
    for text in INVALID_NUMBERS:
        response = send(account, "GET", f"{path}?{name}={text}")
        assert (response.status, response.code) == (400, "ValidationError"), text
        assert [path for path, _ in response.violations] == [name], text

    repeated = send(account, "GET", f"{path}?{name}=1&{name}=1")
    assert (repeated.status, repeated.violations) == (400, [(name, "DUPLICATE_FIELD")])


INVALID_IDS = {
    "empty": "",
    "25 characters": MISSING_ID[:-1],
    "27 characters": f"{MISSING_ID}0",
    "many dots": "../../etc/passwd",
    "NUL": f"{MISSING_ID[:-1]}\0",
    "past the range": f"8{'Z' * 25}",
    "line break": f"{MISSING_ID}\n",
    "full-width": "０１" + MISSING_ID[2:],
    "SQL": "' OR 1=1 --",
}
# An address without a subscriber has a mailability, so other texts are not missing but invalid.
BY_ID = sorted(
    rpc
    for rpc, method in UNARY.items()
    if "id" in method.input_type.fields_by_name and rpc != "GetSubscriberMailability"
)


@each("rpc", BY_ID)
def test_malformed_id_is_not_found(account: Account, rpc: str) -> None:
    resource = resource_type(rpc).removesuffix("Service")
    for case, text in INVALID_IDS.items():
        response = account.call(rpc, id=text, **REQUESTS.get(rpc, {}))

        # Over HTTP there is no path with an empty segment.
        no_route = not text and isinstance(account.front, HttpFront)
        code = "RouteNotFound" if no_route else f"{resource}NotFound"
        assert (response.status, response.code) == (404, code), case
