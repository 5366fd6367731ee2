"""Lets the tests of calls be coroutines."""

from __future__ import annotations

from ..async_tests import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]
