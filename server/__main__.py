"""The entry point of `roster` and `python -m rosterd.server`."""

from __future__ import annotations

import os
import signal

# Silences gRPC's C core, whose messages on standard error repeat what Roster logs. It reads the
# variable when it is imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")


def main() -> None:
    # Ctrl-C during imports ends the process without a traceback.
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as run  # noqa: PLC0415 - see above

    signal.signal(signal.SIGINT, handler)
    run()


if __name__ == "__main__":
    main()
