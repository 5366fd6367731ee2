"""Starts the service of a command in this process, or supervises several processes."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace

from ..config import Settings
from ..observability.logs import configure, is_text
from .environment import warn_about_unknown_settings
from .options import process_options
from .process import run
from .reserved_ports import check_ports
from .role import Role
from .supervisor import supervise

log = logging.getLogger(__name__)


def launch(command: str, settings: Settings, role: Role = Role.ALONE) -> None:
    """Runs `roster COMMAND` until a signal stops it.

    Raises SettingError, PortInUse or StorageError, and SystemExit with several processes.
    """
    configure(settings.log_level, as_text=is_text(settings.log_format, sys.stderr))
    warn_about_unknown_settings(log.warning)
    options = process_options(command, settings, role)
    if role is Role.ALONE:
        observability = check_ports(options.addresses, options.observability)
        options = replace(options, observability=observability)
        if options.addresses and settings.processes > 1:
            raise SystemExit(supervise(options))
    from .services import service_of  # noqa: PLC0415 - a supervisor needs no gRPC

    run(service_of(options), options)
