"""Validates the settings for metrics, logs and traces, and starts logging."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass

from ..config import OTLP, Settings, warn_about_unknown_settings
from ..observability.logs import configure, is_text
from ..security.tls import ServerIdentity
from ..values.addresses import Address
from .options import check_plaintext

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ObservabilityOptions:
    """The address of metrics, None for none, and what is logged and traced.

    `address_is_set` is false if the address is the default.
    """

    address: Address | None
    address_is_set: bool
    identity: ServerIdentity | None
    log_calls: bool
    as_text: bool
    traces: bool


def start_log(settings: Settings) -> None:
    """Starts logging to standard error. Raises SettingError."""
    configure(settings.log_level, as_text=is_text(settings.log_format, sys.stderr))
    warn_about_unknown_settings(log.warning)


def observability_options(settings: Settings) -> ObservabilityOptions:
    """Raises SettingError."""
    address = settings.metrics_address
    certificate, key = settings.metrics_tls_certificate, settings.metrics_tls_key
    identity = ServerIdentity("metrics_tls", certificate, key) if certificate or key else None
    if address is not None and identity is None:
        check_plaintext(
            settings,
            Settings.metrics_address,
            [address],
            Settings.metrics_tls_certificate,
            "its metrics",
        )
    return ObservabilityOptions(
        address=address,
        address_is_set="metrics_address" in settings.explicit,
        identity=identity,
        log_calls=settings.log_level in ("debug", "info"),
        as_text=is_text(settings.log_format, sys.stderr),
        traces=settings.tracing == OTLP,
    )
