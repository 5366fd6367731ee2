"""What was said of how a process is watched, checked."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass

from ..addresses import Address, check_plaintext, parse_address
from ..config import OFF, OTLP, check_choice, unknown_settings
from ..logs import FORMATS, LEVELS, configure, is_text
from ..tls import ServerIdentity

log = logging.getLogger(__name__)

_RISK = "what it tells of itself"


@dataclass(frozen=True)
class ObservabilityOptions:
    """Where metrics are served, if anywhere; what is logged, and whether as text.

    `address_is_set` says whether a flag or the environment sets the address; otherwise it is
    the default.
    """

    address: Address | None
    address_is_set: bool
    identity: ServerIdentity | None
    log_calls: bool
    as_text: bool
    traces: bool


def start_log(level: str, form: str) -> None:
    """Begins to log what is of this level, in this form. Raises SettingError."""
    check_choice("log_level", level, LEVELS)
    check_choice("log_format", form, FORMATS)
    configure(level, as_text=is_text(form, sys.stderr))
    for sentence in unknown_settings():
        log.warning(sentence)


def observability_options(
    *,
    address: str,
    address_is_set: bool,
    certificate: str,
    key: str,
    risk: bool,
    log_level: str,
    log_format: str,
    tracing: str = "",
) -> ObservabilityOptions:
    """Checks how a process is to be watched. Raises SettingError."""
    place = parse_address("metrics_address", address) if address != OFF else None
    identity = ServerIdentity("metrics_tls", certificate, key) if certificate or key else None
    if place is not None and identity is None:
        check_plaintext("metrics_address", [place], "metrics_tls_certificate", _RISK, risk=risk)
    return ObservabilityOptions(
        address=place,
        address_is_set=address_is_set,
        identity=identity,
        log_calls=log_level in ("debug", "info"),
        as_text=is_text(log_format, sys.stderr),
        traces=check_choice("tracing", tracing, ("", OTLP)) == OTLP,
    )
