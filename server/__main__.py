"""`roster`, and `python -m server`."""

from __future__ import annotations

import os

# gRPC's C core writes lines of its own to standard error, in a form of its own,
# for what Roster reports itself. It reads this when it is imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

from .cli import main

if __name__ == "__main__":
    main()
