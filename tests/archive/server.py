"""Serves the archive with Python alone: for unit tests on loopback, and for what nginx cannot do in the container.

The rules here are the broken variants that are not a matter of files; ``nginx.py`` writes the same for nginx. Standard
library only, since the container runs this file alone.
"""

from __future__ import annotations

import argparse
import os
import posixpath
import re
import sys
import time
import urllib.parse
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

#: Bytes a second of what is slow.
SLOW_RATE = 256

LOGIN_PAGE = (
    "<!DOCTYPE html><html><head><title>Sign in to the network</title></head>"
    "<body><form action='/login'>Please sign in to use this network.</form></body></html>\n"
)

_KEY = r"/(?!.*/dists/).*\.(?:gpg|key)"


@dataclass(frozen=True)
class Rule:
    """What happens to requests for a broken variant.

    Attributes:
        variant: The variant: the first part of the path below ``/broken/``.
        path: Expression for the rest of the path.
        action: ``missing`` answers 404, ``page`` a login page with 200, ``slow`` sends :data:`SLOW_RATE`, ``cut`` ends
            the connection after half of the body.
    """

    variant: str
    path: str
    action: str


RULES = (
    Rule("key-missing", _KEY, "missing"),
    Rule("key-login-page", _KEY, "page"),
    Rule("key-slow", _KEY, "slow"),
    Rule("key-cut", _KEY, "cut"),
    Rule("index-unsigned", r"/.*/dists/[^/]+/(?:InRelease|Release\.gpg)", "missing"),
    Rule("gone", r"/.*", "missing"),
    Rule("login-page", r"/.*", "page"),
    Rule("slow", r"/.*", "slow"),
    Rule("cut", r"/.*", "cut"),
)

_BROKEN = re.compile(r"/broken/([a-z0-9-]+)(/.*)")


def split(path: str) -> tuple[str, str]:
    """Return the variant of a request's path, empty for the sound archive, and the path below the document root."""
    match = _BROKEN.fullmatch(path)
    return (match.group(1), match.group(2)) if match else ("", path)


def action(variant: str, rest: str) -> str:
    """Return what happens to a request, empty: it is answered."""
    return next((rule.action for rule in RULES if rule.variant == variant and re.fullmatch(rule.path, rest)), "")


class Handler(SimpleHTTPRequestHandler):
    """Answers requests for the sound archive and for ``/broken/VARIANT/``."""

    protocol_version = "HTTP/1.1"
    root = Path()

    def translate_path(self, path: str) -> str:
        """Return the file: the variant's own where it has one, else the sound one."""
        variant, rest = split(self._plain(path))
        broken = self.root / "broken" / variant / rest.lstrip("/")
        return str(broken if variant and broken.is_file() else self.root / "www" / rest.lstrip("/"))

    def do_GET(self) -> None:
        """Answer a request."""
        happens = action(*split(self._plain(self.path)))
        if happens == "missing":
            self.send_error(404)
        elif happens == "page":
            self._send(LOGIN_PAGE.encode(), "text/html")
        elif happens:
            file = Path(self.translate_path(self.path))
            if not file.is_file():
                self.send_error(404)
                return
            self._send(file.read_bytes(), "application/octet-stream", happens)
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it so
        """Stay quiet: tests read what the server is asked by what the client reports."""

    def _plain(self, path: str) -> str:
        return posixpath.normpath(urllib.parse.unquote(path.partition("?")[0]))

    def _send(self, body: bytes, kind: str, happens: str = "") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if happens == "cut":
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.close_connection = True
            return
        step = SLOW_RATE if happens == "slow" else max(len(body), 1)
        for start in range(0, len(body), step):
            if start:
                time.sleep(1)
            self.wfile.write(body[start : start + step])


def server(root: Path, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """Return a server that is bound and not yet serving; port 0 takes a free one.

    Args:
        root: What ``build --out`` was given.
        host: The address to listen on.
        port: The port.
    """
    handler = type("BoundHandler", (Handler,), {"root": root})
    return ThreadingHTTPServer((host, port), handler)


def main() -> int:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    with server(arguments.root.resolve(), arguments.host, arguments.port) as httpd:
        sys.stdout.write(f"http://{arguments.host}:{httpd.server_port}\n")
        sys.stdout.flush()
        try:
            httpd.serve_forever()
        except KeyboardInterrupt:
            os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
