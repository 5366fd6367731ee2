"""A proxy between a client and a PostgreSQL server that drops responses."""

from __future__ import annotations

import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

NAME = ".s.PGSQL.5432"


class Relay:
    """Forwards bytes between a socket in `folder` and the server's socket in another folder."""

    def __init__(self, folder: str) -> None:
        self._target = str(Path(folder) / NAME)
        self._own = tempfile.TemporaryDirectory(prefix="relay")
        self.folder = self._own.name
        self._dropped: bytes | None = None
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(Path(self.folder) / NAME))
        self._listening.listen()

    def drop_responses_to(self, text: bytes | None) -> None:
        """Closes a connection once the server responds to a message that contains the text."""
        self._dropped = text

    def __enter__(self) -> Relay:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._own.cleanup()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._target)
            lost = threading.Event()
            back = threading.Thread(target=self._answer, args=(server, client, lost), daemon=True)
            back.start()
            while data := client.recv(65536):
                if self._dropped is not None and self._dropped in data:
                    lost.set()
                server.sendall(data)
            with suppress(OSError):
                server.shutdown(socket.SHUT_WR)
            back.join()

    def _answer(self, server: socket.socket, client: socket.socket, lost: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if lost.is_set():
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)
