"""`roster`, and `python -m server`."""

from __future__ import annotations

import os
import signal

# gRPC's C core writes lines of its own to standard error, in a form of its own,
# for what Roster reports itself. It reads this when it is imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")


def main() -> None:
    """Runs the command line."""
    # Ctrl-C while modules are imported ends the process without a traceback.
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as run

    signal.signal(signal.SIGINT, handler)
    run()


if __name__ == "__main__":
    main()
