"""Merge tags: syntax, replacement, escaping and limits."""

from __future__ import annotations

import html
import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rosterd.server.features.merge_tags.rules import MAX_INSERTED, Values, render
from rosterd.server.rpc.errors import ValidationError

from ..cases import each

ADA = Values(
    built_in={"email": "ada@example.com", "firstName": "Ada", "lastName": ""},
    custom={"city": "London", "empty": "", "pages": 0.0, "vip": False, "born": "1815-12-10"},
    fallbacks={
        "city": "somewhere",
        "empty": "",
        "pages": "many",
        "vip": "perhaps",
        "born": "",
        "company": "your company",
        "color": "",
        "2": "two",
        "a" * 64: "sixty-four",
        "a" * 65: "sixty-five",
    },
)
ONE_MEGABYTE = 1_000_000
BREAKS = "\n\v\f\r\x85\u2028\u2029"

one_line = st.text(st.characters(codec="utf-8", exclude_characters=BREAKS)) | st.lists(
    st.sampled_from(["\\", '"', "&quot;", "&", "amp;", "#34;", "{{", "}}", "|", " ", "x"])
).map("".join)


def in_subject(template: str, values: Values = ADA) -> str:
    return render(template, "", values).subject


def in_body(template: str, values: Values = ADA) -> str:
    return render("", template, values).body


def city(value: str | float | bool) -> Values:
    """Returns a subscriber with this value in a custom field."""
    return ADA._replace(custom={"city": value})


def named(**built_in: str) -> Values:
    return ADA._replace(built_in={**ADA.built_in, **built_in})


def quoted(text: str) -> str:
    """Returns a text as a quoted fallback."""
    return '"' + re.sub(r'["\\]', r"\\\g<0>", text) + '"'


@pytest.mark.parametrize(
    ("template", "text"),
    [
        pytest.param("{{email}}", "ada@example.com", id="email"),
        pytest.param('{{lastName | fallback: "x"}}', "x", id="fallback of an empty name"),
        pytest.param("{{customFields.city}}", "London", id="custom field"),
        pytest.param('{{customFields.city | fallback: "x"}}', "London", id="value first"),
        pytest.param("{{customFields.company}}", "your company", id="then the field's"),
        pytest.param('{{customFields.empty | fallback: "x"}}', "x", id="empty text is missing"),
        pytest.param('{{customFields.pages | fallback: "x"}}', "0", id="zero is a value"),
        pytest.param('{{customFields.vip | fallback: "x"}}', "false", id="false is a value"),
        pytest.param(f"{{{{customFields.{'a' * 64}}}}}", "sixty-four", id="key of 64 characters"),
        pytest.param(r'{{lastName | fallback: "a\\b\\"}}', "a\\b\\", id="backslashes"),
        pytest.param(r'{{lastName | fallback: "C:\temp"}}', r"C:\temp", id="backslash by itself"),
        pytest.param('{{lastName | fallback: "a }} {{ b"}}', "a }} {{ b", id="braces in fallback"),
        pytest.param('{{lastName | fallback: "{{email}}"}}', "{{email}}", id="tag in fallback"),
        pytest.param("{{x {{firstName}} }}", "{{x Ada }}", id="tag in what is none"),
    ],
)
def test_tag_is_replaced(template: str, text: str) -> None:
    rendered = render(template, template, ADA)

    assert rendered == (text, text, [], {})


@pytest.mark.parametrize(
    "template",
    [
        "",
        "{email}",
        "{{ }}",
        "{{e-mail}}",
        "{{\u200bemail}}",
        "{{.}}",
        "{{email | fallback:}}",
        "{{email | fallback: x}}",
        "{{email | fallback: 'x'}}",
        '{{email | fallback: "x}}',
        '{{email | fallback : "x"}}',
        '{{email | upper: "x"}}',
        '{{email | fallback: "x" | fallback: "y"}}',
        r'{{email | fallback: "x\"}}',
        '{{email |\nfallback: "x"}}',
        *(f'{{{{email | fallback: "x{character}y"}}}}' for character in BREAKS),
        '{{email | fallback: "x&quot;}}',
        '{{email | fallback: &quot;x"}}',
        r"{{email | fallback: &quot;x\&quot;}}",
        "{{email | fallback: &#34;x&#34;}}",
        "<b>&amp; & '\" \r\n\t\x00\x7f</b>",
    ],
    ids=ascii,
)
def test_other_text_is_unchanged(template: str) -> None:
    assert render(template, template, ADA) == (template, template, [], {})


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("first_name", "firstName"),
        ("subscriber.firstName", "firstName"),
        ("e_mail", "email"),
        ("city", "customFields.city"),
        ("customfields.city", "customFields.city"),
        ("customFields.", None),
        ("a" * 100_000, None),
        (f"customFields.{'a' * 66}", f"customFields.{'a' * 65}"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_unknown_name_is_removed_and_listed_with_the_nearest_known_one(
    name: str, suggestion: str | None
) -> None:
    rendered = render(f"[{{{{{name}}}}}]", f"[{{{{ {name} }}}}]", ADA)

    suggestions = {} if suggestion is None else {name: suggestion}
    assert rendered == ("[]", "[]", [name], suggestions)


def test_time_of_suggestions_is_limited() -> None:
    body = "".join(f"{{{{firstnam{number}}}}}" for number in range(50_000))

    rendered = render("", body, ADA)

    assert (len(rendered.unknown), len(rendered.suggestions)) == (50_000, 20)


MARKUP = """<b a="1" b='2'>&amp;</b>"""
ESCAPED = "&lt;b a=&quot;1&quot; b=&#x27;2&#x27;&gt;&amp;amp;&lt;/b&gt;"


@pytest.mark.parametrize(
    ("template", "values"),
    [
        pytest.param("{{firstName}}", named(firstName=MARKUP), id="name"),
        pytest.param("{{email}}", named(email=MARKUP), id="email"),
        pytest.param("{{customFields.city}}", city(MARKUP), id="value"),
        pytest.param(
            "{{customFields.city}}",
            ADA._replace(custom={}, fallbacks={"city": MARKUP}),
            id="field's fallback",
        ),
        pytest.param(f"{{{{lastName | fallback: {quoted(MARKUP)}}}}}", ADA, id="tag's fallback"),
    ],
)
def test_markup_is_escaped_in_a_body_and_not_in_a_subject(template: str, values: Values) -> None:
    rendered = render(f"<i>{template}", f"<i>{template}", values)

    assert (rendered.subject, rendered.body) == (f"<i>{MARKUP}", f"<i>{ESCAPED}")


@given(one_line)
@example("\\")
@example('\\"')
@example("&quot;")
@example("&amp;quot;")
def test_fallback_escaped_by_an_editor_is_parsed_without_loss(text: str) -> None:
    tag = html.escape(f"{{{{lastName | fallback: {quoted(text)}}}}}")

    assert in_body(tag) == html.escape(text)


@pytest.mark.parametrize(
    ("fallback", "text"),
    [
        pytest.param(r'"say \"hi\""', 'say "hi"', id="quotes"),
        pytest.param(r'"a\\\"b"', r"a\"b", id="backslash, quote"),
        pytest.param('"a &quot; b &lt;"', "a &quot; b &lt;", id="references between bare quotes"),
        pytest.param("&quot;&quot;", "", id="nothing in escaped quotes"),
        pytest.param(r"&quot;say \&quot;hi\&quot;&quot;", 'say "hi"', id="quotes in escaped ones"),
        pytest.param('&quot;a"b&quot;', 'a"b', id="bare quote in escaped ones"),
        pytest.param(
            "&quot;Tom &amp; J&eacute;r&#233;m&#xE9;&quot;", "Tom & Jérémé", id="references"
        ),
        pytest.param("&quot;&amp;lt;&quot;", "&lt;", id="unescaped once"),
        pytest.param("&quot;a & b &copy &foo;&quot;", "a & b &copy &foo;", id="no references"),
    ],
)
def test_fallback_of_a_body_is_parsed(fallback: str, text: str) -> None:
    assert in_body(f"{{{{lastName | fallback: {fallback}}}}}") == html.escape(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("a\r\nBcc: eve@example.com", "a Bcc: eve@example.com", id="CR LF"),
        pytest.param("a\tb\x00c\x1bd\x7fe\x9ff", "a b c d e f", id="controls"),
        pytest.param("a\u2028b\u2029c", "a b c", id="separators"),
        pytest.param("  a  b\u00a0", "  a  b\u00a0", id="spaces are kept"),
    ],
)
def test_control_characters_become_a_space_in_a_subject(value: str, text: str) -> None:
    field = ADA._replace(custom={}, fallbacks={"city": value})

    assert in_subject("{{customFields.city}}", city(value)) == text
    assert in_subject("{{firstName}}", named(firstName=value)) == text
    assert in_subject("{{customFields.city}}", field) == text


def test_adjacent_values_that_form_a_tag_are_not_rendered() -> None:
    values = named(email="email", firstName="{{", lastName="}}")

    assert in_body("{{firstName}}{{email}}{{lastName}}", values) == "{{email}}"
    assert in_body("{{{firstName}}email}}", values) == "{{{email}}"


# With backtracking from every brace, each would take minutes or hours. With a stored state per
# backslash, each would run out of memory.
@pytest.mark.verify
@pytest.mark.parametrize(
    ("start", "run"),
    [
        pytest.param("", "{", id="braces"),
        pytest.param("{{ ", " ", id="spaces in the braces"),
        pytest.param("", "{{ \t{{email \t| \t", id="spaces and braces"),
        pytest.param("{{customFields.", "a", id="one long key"),
        pytest.param('{{email | fallback: "', "x", id="open fallback"),
        pytest.param("{{email | fallback: &quot;", "x", id="open escaped fallback"),
        pytest.param("", '{{email | fallback: ""', id="closed fallbacks in open tags"),
        pytest.param('{{email | fallback: "', "\\", id="backslashes"),
        pytest.param('{{email | fallback: "', '\\"', id="quotes with backslashes"),
    ],
)
def test_megabyte_without_a_tag_is_rendered_in_linear_time_and_unchanged(
    start: str, run: str
) -> None:
    template = start + run * math.ceil(ONE_MEGABYTE / len(run))

    # Compared outside the assertion: pytest would take hours to show the difference.
    is_same = render(template, template, ADA) == (template, template, [], {})

    assert is_same


@each("part", ["subject", "body"])
def test_size_of_inserted_values_is_limited(part: str) -> None:
    values = city("x" * 1_000)
    tag, times = "{{customFields.city}}", MAX_INSERTED // 1_000
    render(**{"subject": "", "body": "", part: tag * times}, values=values)

    with pytest.raises(ValidationError) as caught:
        render(**{"subject": "", "body": "", part: tag * (times + 1)}, values=values)

    assert [(d.field, d.code) for d in caught.value.details] == [(part, "TOO_LONG")]
