"""Addresses in files, with what programs write around them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rosterd.server.values.file_addresses import all_addresses, parse_file_email, unwrap

from ..cases import each

ADA = "ada@example.com"
_BLANKS = "\ufeff\u200b\u200e\u200f\u2060\u00a0\u3000\u202f\u00ad \t\r\n"
_WRAPPERS = (
    *("({})", "[{}]", '="{}"'),
    "{}",
    "<{}>",
    "mailto:{}",
    "MAILTO:{}",
    '"{}"',
    "'{}'",
    "\u201c{}\u201d",
    "{};",
    "{},",
)


@given(
    wrappers=st.lists(st.sampled_from(_WRAPPERS), max_size=4), blanks=st.text(_BLANKS, max_size=3)
)
def test_wrappers_and_blanks_around_an_address_are_removed(
    wrappers: list[str], blanks: str
) -> None:
    text = ADA
    for wrapper in wrappers:
        text = f"{blanks}{wrapper.format(text)}{blanks}"

    email = parse_file_email(text)

    assert email is not None
    assert email == (ADA, ADA)


@each(
    ("text", "name"),
    [
        ("Ada Lovelace <ada@example.com>", "Ada Lovelace"),
        ('"Ada Lovelace" <ada@example.com>;', "Ada Lovelace"),
        ("'Ada' <mailto:ada@example.com>", "Ada"),
        ("mailto:ada@example.com?subject=Hello", ""),
        ("Ada Lovelace<\u200bada@example.com>\u3000", "Ada Lovelace"),
    ],
)
def test_name_before_an_address_is_returned(text: str, name: str) -> None:
    assert unwrap(text) == (ADA, name)


@each(
    "text",
    [
        *(
            "ada\u200b@example.com",
            "ada@exam\u200bple.com",
            "ada@\u00adexample.com",
            "a\ufffdda@example.com",
            "a b@example.com",
        ),
        *(
            "ada@example.com; bob@example.com",
            "ada@example.com,bob@example.com",
            "\u200b",
            "<>",
            "Ada <>",
        ),
        *("a <b> <ada@example.com>", "<ada@example.com", '"ada@example.com', "ada@example.com."),
        *("\u200b" * 999 + "x", '"' * 1_000, "<" * 1_000, f"{' ;' * 499}x", "x" * 50_000),
    ],
)
def test_text_with_something_else_is_no_address(text: str) -> None:
    assert parse_file_email(text) is None


@each(
    ("text", "addresses"),
    [
        (ADA, [ADA]),
        *(
            (text, [ADA])
            for text in ("ada%40example.com", "ada&#64;example.com", "ada@@example.com")
        ),
        *(
            (text, [ADA])
            for text in ("ada [at] example.com", '"ada"@example.com', "ada＠example.com")
        ),
        *((text, [ADA]) for text in ("ada @example.com", "a\u200bda@example.com", f"{ADA}.")),
        *((text, [ADA]) for text in (f"{ADA} (Ada)", f"Email: {ADA}", f"[{ADA}](mailto:{ADA})")),
        *((text, [ADA]) for text in (f'<a href="mailto:{ADA}">Ada</a>', f"<{ADA}> Ada, {ADA}")),
        *(
            (f"{ADA}{between}bob@b.io", [ADA, "bob@b.io"])
            for between in ("; ", ",", " ", "\n", "/")
        ),
        *(
            (text, ["a/b@b.io", ADA])
            for text in (f"a/b@b.io; {ADA}", f"a/b@b.io、{ADA}", f"a/b@b.io–{ADA}")
        ),
        *(
            (text, ["bob@b.io", ADA])
            for text in (f"bob@b.io!; {ADA}", f"mailto:bob@b.io?subject=x, {ADA}")
        ),
        # More addresses than 20 are not read.
        (" ".join(f"{number}@b.io" for number in range(21)), []),
        (f"Bob@b.io <{ADA}>", [ADA, "Bob@b.io"]),
        ("ada%2Bx@b.io", ["ada%2Bx@b.io", "ada+x@b.io"]),
        ("ａda@b.io", ["ａda@b.io", "ada@b.io"]),
        ("müller@b.io", ["müller@b.io"]),
        *(
            (text, [])
            for text in ("", "ada", "@example.com", "a\ufffdda@b.io", f"x{' ' * 999}{ADA}")
        ),
    ],
)
def test_all_addresses_that_a_text_can_mean_are_found(text: str, addresses: list[str]) -> None:
    found = all_addresses(text)

    assert [*map(parse_file_email, found)] == [*map(parse_file_email, addresses)]
