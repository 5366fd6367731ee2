"""Every store function that uses the database takes the account as its first parameter."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

from rosterd.server.features.subscribers.store import SubscriberStore
from rosterd.server.features.suppressions.store import Suppressions

from .helpers import stores


def public_functions(store: ModuleType) -> dict[str, list[str]]:
    """Returns the parameter names of the public functions of a store, without `self`."""
    found = dict(inspect.getmembers(store, inspect.isfunction))
    for kind, cls in inspect.getmembers(store, inspect.isclass):
        if cls in (SubscriberStore, Suppressions):
            methods = inspect.getmembers(cls, inspect.isfunction)
            found |= {f"{kind}.{name}": method for name, method in methods}
    return {
        name: [p for p in inspect.signature(function).parameters if p != "self"]
        for name, function in found.items()
        if function.__module__ == store.__name__ and not name.rpartition(".")[2].startswith("_")
    }


# Functions for all accounts, in addition to those with `_any_` in their name.
OF_ALL = {"create_account", "list_accounts"}


@pytest.mark.parametrize("store", stores(), ids=lambda store: store.__name__)
def test_every_store_function_that_reaches_the_database_takes_the_account_first(
    store: ModuleType,
) -> None:
    functions = {name: names for name, names in public_functions(store).items() if "tx" in names}

    others = {name for name in functions if name in OF_ALL or "_any_" in name}
    assert {names[0] for name, names in functions.items() if name not in others} <= {"account_id"}
