"""A web server on loopback that counts what it is asked and answers as each test wants."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Answer:
    """What a path gives: ``body`` may be an iterable of pieces, each sent on its own."""

    def __init__(self, body=b"", status=200, headers=None, length=None):
        self.body, self.status, self.headers, self.length = body, status, headers or {}, length


class KeyServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, context=None):
        self.answers = {}
        self.asked = []
        self.logins = []
        super().__init__(("127.0.0.1", 0), Handler)
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.server_port}"

    def serve(self, path, body=b"", **options):
        """Give a path an answer and return its URL."""
        self.answers[path] = Answer(body, **options)
        return self.url + path

    def handle_error(self, request, client_address):
        """Say nothing: tests cut connections and refuse certificates on purpose."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.server.logins.append(self.headers.get("Authorization"))
        answer = self.server.answers.get(self.path) or Answer(b"not here", status=404)
        pieces = [answer.body] if isinstance(answer.body, bytes) else answer.body
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.length is not None or isinstance(answer.body, bytes):
            self.send_header("Content-Length", str(len(answer.body) if answer.length is None else answer.length))
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)

    def log_message(self, *args):
        pass


@contextmanager
def running(context=None):
    server = KeyServer(context)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
