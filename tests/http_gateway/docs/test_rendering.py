"""Values, code, bounds, descriptions and fields as the pages show them."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from rosterd.http_gateway.docs.bodies import Body
from rosterd.http_gateway.docs.bounds import bounds_of
from rosterd.http_gateway.docs.documentation import Documentation
from rosterd.http_gateway.docs.markdown import prose
from rosterd.http_gateway.docs.samples import Call, samples_of

from .html import text_of


def test_apostrophe_in_a_body_does_not_end_the_quotes_of_the_shell() -> None:
    body = Body("application/json", "", (), {"name": "it's", "n": None}, has_records=False)

    curl, *_ = samples_of(Call("PUT", "/api/x", body, None), Documentation())

    words = shlex.split(text_of(curl.code).replace("\\\n", ""))
    assert words[:3] == ["curl", "-X", "PUT"]
    assert json.loads(words[words.index("-d") + 1]) == body.example


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"minLength": 1, "maxLength": 100}, ["1 to 100 characters"]),
        ({"minLength": 1}, ["at least 1 character"]),
        (
            {"maxItems": 9, "items": {"maxLength": 5}},
            ["at most 9 items", "each at most 5 characters"],
        ),
        ({"minimum": 0, "maximum": 2**31 - 1}, ["at least 0"]),
        ({"maximum": 500_000}, ["at most 500,000"]),
        ({"exclusiveMinimum": 0}, ["more than 0"]),
    ],
    ids=str,
)
def test_bounds_are_stated_in_words(schema: dict[str, Any], words: list[str]) -> None:
    assert list(bounds_of(schema)) == words


def test_description_has_paragraphs_lists_and_code_and_no_other_markup() -> None:
    assert prose("One `a<b`.\n\n- x\n- y") == (
        "<p>One <code>a&lt;b</code>.</p>\n<ul>\n<li>x</li>\n<li>y</li>\n</ul>\n"
    )
    assert prose("<i>1</i> *2* [3](x) ![4](y) # 5") == (
        "<p>&lt;i&gt;1&lt;/i&gt; *2* [3](x) ![4](y) # 5</p>\n"
    )
