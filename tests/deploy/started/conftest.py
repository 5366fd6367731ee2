"""The image, which is built once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .machine import Image, built


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    with built(tmp_path_factory.mktemp("image")) as image:
        yield image
