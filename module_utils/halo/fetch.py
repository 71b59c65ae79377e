"""Small files from URLs: bounded in size and time, through the environment's proxies, with errors that help."""

from __future__ import annotations

import base64
import http.client
import os
import re
import socket
import ssl
import stat
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

# Some content networks answer 403 to Python's own name.
_AGENT = "halo-provision"
_CHUNK = 1 << 16
_REMEDIES = {
    401: "put user and password into the URL: https://USER:PASSWORD@example.org/...",
    404: "correct the URL; the vendor may have moved the file",
    407: "put user and password into the proxy's URL in https_proxy and http_proxy",
}


class FetchError(Exception):
    """A source did not give what was asked of it.

    Attributes:
        reason: What happened, in one line.
        remedy: What to do about it.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


def fetch(url: str, limit: int, timeout: float) -> bytes:
    """Return what a URL serves.

    Proxies, their exceptions and the trusted certificates are those of the environment: ``http_proxy``,
    ``https_proxy``, ``no_proxy``, ``SSL_CERT_FILE``. Redirects are followed to http and https alone.

    Args:
        url: ``http:``, ``https:``, with or without user and password, or ``file:``.
        limit: The greatest size that is read, in bytes.
        timeout: How long the whole transfer may take, in seconds.

    Raises:
        FetchError: No answer, no file, an error status, a certificate that is not trusted, too many bytes, too few.
    """
    try:
        parts = urlsplit(url)
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            return read_file(unquote(parts.path), limit)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise FetchError("the URL is neither http:, https: nor file:///", "correct the URL")
        return _download(parts, limit, timeout)
    except (ValueError, http.client.InvalidURL) as error:
        raise FetchError(f"the URL cannot be understood: {error}", "correct the URL") from error


def read_file(path: str, limit: int) -> bytes:
    """Return the content of a regular file.

    Raises:
        FetchError: It cannot be read, is something else than a file, or is larger than ``limit`` bytes.
    """
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise FetchError(f"{path} is no regular file", "name a file that holds the key")
        with Path(path).open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise FetchError(f"{path} cannot be read: {error.strerror}", f"put the key there: ls -l {path}") from error
    if len(data) > limit:
        raise _too_large(limit)
    return data


def masked(url: str) -> str:
    """Return a URL, or a text with URLs in it, without users and passwords, for messages."""
    return re.sub(r"(?<=//)[^/@\s]*@", "***@", url)


def proxy_of(url: str) -> str:
    """Return the proxy that the environment prescribes for a URL, without its password; empty for none."""
    try:
        parts = urlsplit(url)
        if urllib.request.proxy_bypass(parts.hostname or ""):
            return ""
    except ValueError:
        return ""
    return masked(urllib.request.getproxies().get(parts.scheme, ""))


def _download(parts: SplitResult, limit: int, timeout: float) -> bytes:
    host = parts.netloc.rpartition("@")[2]
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)), headers={"User-Agent": _AGENT})  # noqa: S310
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        # Unredirected: the password is for this host and for no other one that it may point to.
        request.add_unredirected_header("Authorization", "Basic " + base64.b64encode(login).decode("ascii"))
    deadline = time.monotonic() + timeout
    try:
        with _opener().open(request, timeout=timeout) as response:
            return _body(response, limit, deadline)
    except urllib.error.HTTPError as error:
        raise _status(error) from error
    except http.client.InvalidURL:
        raise
    except (OSError, http.client.HTTPException) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        raise _unreachable(cause, parts.hostname or "", timeout) from error


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener that, unlike urllib's own, knows nothing but http and https: no redirect leads to a file."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _body(response: http.client.HTTPResponse, limit: int, deadline: float) -> bytes:
    promised = response.headers.get("Content-Length", "")
    size = int(promised) if promised.isdigit() else None
    if size is not None and size > limit:
        raise _too_large(limit, size)
    data = bytearray()
    # read1 returns what one packet brought, so that a server that drips does not outlast the deadline.
    while chunk := response.read1(_CHUNK):
        data += chunk
        if len(data) > limit:
            raise _too_large(limit)
        if time.monotonic() > deadline:
            raise socket.timeout
    if size is not None and len(data) < size:
        raise FetchError(f"the connection was cut after {len(data)} of {size} bytes", "run again, or give another URL")
    return bytes(data)


def _too_large(limit: int, size: int | None = None) -> FetchError:
    many = f"{size} bytes" if size else f"more than {limit} bytes"
    return FetchError(f"{many}; no more than {limit} are read", "give the URL of the key itself, not of an archive")


def _status(error: urllib.error.HTTPError) -> FetchError:
    reason = f"HTTP {error.code} {error.reason}".replace("\n", " ")
    return FetchError(reason, _REMEDIES.get(error.code, "run again later, or give another URL"))


def _unreachable(cause: object, host: str, timeout: float) -> FetchError:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return FetchError(
            f"the certificate of {host} is not trusted: {cause.verify_message}",
            "compare the clock (`date`); install ca-certificates, or the proxy's own authority with "
            "`update-ca-certificates`; or set SSL_CERT_FILE in the task's environment",
        )
    if isinstance(cause, socket.timeout):
        return FetchError(
            f"no complete answer within {timeout:g} s", "run again, raise the timeout, or set https_proxy"
        )
    if isinstance(cause, socket.gaierror):
        return FetchError(
            f"a name does not resolve: {cause.strerror}",
            f"try `getent hosts {host}`; set https_proxy in the task's environment where there is a proxy",
        )
    if "407" in str(cause):
        return FetchError(str(cause), _REMEDIES[407])
    text = str(cause) or repr(cause)
    if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and cause.errno:
        text = os.strerror(cause.errno)
    return FetchError(text, f"try `curl -v` with the URL on the host; is {host} or the proxy down?")
