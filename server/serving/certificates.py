"""Reloads TLS certificates when their files change, and warns before they expire."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

from ..config import SETTINGS, SettingError
from ..observability import metrics
from ..observability.metrics import Sample
from ..security.tls import TlsFiles
from ..values.clock import iso8601

log = logging.getLogger(__name__)

# Seconds between checks of the files. A change is reloaded at the second check.
CHECK_SECONDS = 5.0
# Seconds before the end of a certificate from which a warning is logged, once a day.
EXPIRY_WARNING_SECONDS = 14 * 86_400.0
EXPIRY_WARNING_INTERVAL = 86_400.0

AnyFiles = TlsFiles[Any]


def reload_certificates(files: Sequence[AnyFiles]) -> None:
    """Reloads all files. Logs a warning and keeps the contents of those that are not valid."""
    if not files:
        log.info("SIGHUP: there are no TLS certificates to reload")
    for each in files:
        paths = ", ".join(each.paths.values())
        try:
            each.reload()
        except SettingError as error:
            log.warning("TLS certificate not reloaded, the previous one stays in use: %s", error)
        else:
            log.info("TLS certificate reloaded: %s", paths)


async def watch(files: Sequence[AnyFiles]) -> None:
    """Reloads files that change, and warns of certificates that expire soon, until canceled."""
    warned_at = -math.inf
    while files:
        if time.monotonic() - warned_at >= EXPIRY_WARNING_INTERVAL:
            warned_at = time.monotonic()
            _warn_of_expiries(files)
        await asyncio.sleep(CHECK_SECONDS)
        if changed := [each for each in files if each.have_changed()]:
            reload_certificates(changed)


def _warn_of_expiries(files: Iterable[AnyFiles]) -> None:
    latest = time.time() + EXPIRY_WARNING_SECONDS
    for each in files:
        for setting, expiry in each.expiries.items():
            if expiry < latest:
                end = iso8601(int(expiry * 1000))
                name, path = SETTINGS[setting].environment, each.paths[setting]
                log.warning("the certificate in %s expires at %s: %s", name, end, path)


def expiry_samples(files: Iterable[AnyFiles]) -> list[Sample]:
    """Returns the metric samples of the certificates."""
    return [
        Sample(metrics.CERTIFICATE_EXPIRY, expiry, (setting,))
        for each in files
        for setting, expiry in each.expiries.items()
    ]
