"""Tables in terminal output."""

from __future__ import annotations

import re

import pytest

from rosterd.server.cli.common import output
from rosterd.server.serving.console import console


@pytest.mark.parametrize("width", [20, 80, 200])
def test_table_is_not_truncated_to_the_width_of_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [["0" * 26, "[x] :smile:", "a" * 90], ["1" * 26, "漢", "https://example.com/b"]]
    monkeypatch.setattr(console, "width", width)

    output.print_table(("id", "name", "url"), rows)

    lines = capsys.readouterr().out.splitlines()
    assert [re.split(" {2,}", line.strip()) for line in lines] == [["id", "name", "url"], *rows]
