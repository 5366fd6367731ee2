from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rosterd.http_gateway.codec.scalars import InvalidValue


def code_of(read: Callable[[Any], Any], value: Any) -> str:
    """Returns the code of the InvalidValue that a reader raises."""
    with pytest.raises(InvalidValue) as caught:
        read(value)
    assert str(caught.value)
    return caught.value.code
