"""What the tests of this folder start is built once, which takes half a minute."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .machine import Image, built


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """The image, with Roster in /opt/roster of a Debian."""
    with built(tmp_path_factory.mktemp("image")) as image:
        yield image
