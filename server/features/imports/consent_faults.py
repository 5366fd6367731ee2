"""Finds the columns of a file that look like consent, but do not set it.

The opt-outs in them would be lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ...rpc.errors import Detail
from ..subscribers.csv_format import CUSTOM_FIELDS
from .cells import OPTED_IN, OPTED_OUT_FLAG
from .consent_columns import (
    can_be_address,
    date_of_opt_outs,
    is_generic,
    states_confirmation,
    states_consent,
)
from .presets import Preset

# Fields that store consent.
_CONSENT = frozenset(
    {"status", OPTED_IN, OPTED_OUT_FLAG, "createdAt", "statusChangedAt", "confirmedAt"}
    | {"unsubscribedAt", "consentSource", "consentIp", "consentAt"}
)
_CONSENT_TEXT = (
    "looks like consent; map it to status, optedIn or optedOut with columnMap, or list it in"
    " ignoreColumns"
)
_LIST_TEXT = (
    "looks like the date of a list of opt-outs; import the file as suppressions, map the column to"
    " unsubscribedAt or another time with columnMap, or list it in ignoreColumns"
)
_CONFIRMATION_TEXT = (
    "states whether the address was confirmed; map it to isConfirmed if the person confirmed the"
    " subscription, otherwise list it in ignoreColumns"
)
_CONFIRMATION_HINT = (
    "Map each to isConfirmed if the person confirmed the subscription, such as"
    " columnMap=COLUMN=isConfirmed, otherwise list it in ignoreColumns."
)
_CONSENT_HINT = (
    "Map each to status, optedIn or optedOut with columnMap, such as columnMap=COLUMN=optedOut,"
    " or list it in ignoreColumns if it says nothing about permission to send mail."
)


def consent_faults(
    cells: Sequence[str],
    names: Sequence[str],
    preset: Preset | None,
    fields: Mapping[int, Sequence[str]],
    custom: Collection[int],
    mapped: Collection[int],
    ignored: Collection[int],
) -> dict[int, Detail]:
    """Returns the faults of the columns in a header, by position.

    `names` are the column keys of `cells`, and `fields` those that columns set. `custom` columns
    set a custom field, and `mapped` ones what the client has chosen.
    """
    preset_names = {*preset.columns, *preset.marks} if preset else set()
    faults = {
        index: Detail(
            cell,
            "CONSENT_COLUMN",
            _CONFIRMATION_TEXT if states_confirmation(name) else _CONSENT_TEXT,
        )
        for index, (cell, name) in enumerate(zip(cells, names, strict=True))
        if states_consent(name)
        and index not in ignored
        and (index in mapped or name not in preset_names)
        and _CONSENT.isdisjoint(targets := fields.get(index, ()))
        and not (states_confirmation(name) and "isConfirmed" in targets)
        and not (can_be_address(name) and "email" in targets)
        and not (is_generic(name) and index in custom)
        and not cell.lower().startswith(CUSTOM_FIELDS.lower())
    }
    date = None if preset else date_of_opt_outs(cells)
    if date is not None and date not in ignored and date not in mapped:
        faults[date] = Detail(cells[date], "CONSENT_COLUMN", _LIST_TEXT)
    return faults


def consent_texts(faults: Iterable[Detail], length: int) -> list[str]:
    """Returns the texts of an error for columns that look like consent, which name them."""
    confirmed = [each.field for each in faults if each.message == _CONFIRMATION_TEXT]
    others = [each.field for each in faults if each.message != _CONFIRMATION_TEXT]
    length = length // 2 if confirmed and others else length
    texts = []
    if others:
        texts.append(f"Columns look like consent: {', '.join(others)[:length]}. {_CONSENT_HINT}")
    if confirmed:
        listed = ", ".join(confirmed)[:length]
        texts.append(f"Columns state a confirmation: {listed}. {_CONFIRMATION_HINT}")
    return texts
