"""Compares the hash of texts with PostgreSQL's own."""

from __future__ import annotations

import psycopg
from hypothesis import given
from hypothesis import strategies as st

from rosterd.server.storage.citus.text_hash import text_hash
from rosterd.server.values.ids import Ids

from ..postgres import Postgres

_HASH = 'SELECT hashtext(text COLLATE "C") FROM unnest(%s::text[]) AS text'


def test_hash_is_that_of_postgresql(postgres: Postgres) -> None:
    with psycopg.connect(postgres.uri) as connection:

        @given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
        def check(texts: list[str]) -> None:
            texts.extend(Ids(lambda: 1_800_000_000_000).take(3))
            hashes = [value for (value,) in connection.execute(_HASH, [texts])]
            assert [text_hash(text) for text in texts] == hashes

        check()
