"""The cache of results for texts that clients choose."""

from __future__ import annotations

from rosterd.server.values.texts import cached_if_short


def test_only_results_for_short_texts_are_cached() -> None:
    calls: list[str] = []

    @cached_if_short
    def upper(text: str) -> str:
        calls.append(text)
        return text.upper()

    short, long = "a", "b" * 1_000

    assert [upper(short), upper(short), upper(long), upper(long)] == ["A", "A", *["B" * 1_000] * 2]
    assert calls == [short, long, long]
