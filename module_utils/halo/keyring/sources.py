"""Keys from the sources of a request, and what is wrong with each source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .. import openpgp
from ..fetch import FetchError, fetch, masked, proxy_of, read_file
from ..findings import Finding
from ..openpgp import Key
from .request import Request

_REMEDIES: dict[type[openpgp.OpenPgpError], str] = {
    openpgp.HtmlError: "if this is a proxy's login page (`curl -L` with the URL on the host shows it), set or unset "
    "https_proxy and no_proxy in the task's environment; else correct the URL, or give the key as content",
    openpgp.SecretKeyError: "export the public key instead: `gpg --armor --export FINGERPRINT`; if the secret key was "
    "served to others as well, tell its owner",
    openpgp.TooLargeError: "give the URL of the key itself",
}
_REMEDY = "look at what is there: `curl -sL URL | head -c 300`; correct the URL, or give the key as content"


@dataclass(frozen=True)
class Served:
    """What one source gave.

    Attributes:
        source: A URL without its password, a path, or the word content.
        keys: The keys that were read from it.
        failure: A warning that says why there are none.
    """

    source: str
    keys: list[Key] = field(default_factory=list)
    failure: Finding | None = None


def each(request: Request) -> Iterator[Served]:
    """Read the sources one after the other; one that nobody asks the iterator for is not opened."""
    if request.content:
        yield _read("content", request.content.encode("utf-8"))
    if request.src:
        yield _fetched(request.src, request.timeout, local=True)
    for url in request.urls:
        yield _fetched(url, request.timeout)


def _fetched(source: str, timeout: float, local: bool = False) -> Served:
    label = source if local else masked(source)
    proxy = "" if local else proxy_of(source)
    through = f" (through the proxy {proxy})" if proxy else ""
    try:
        data = read_file(source, openpgp.MAX_BYTES) if local else fetch(source, openpgp.MAX_BYTES, timeout)
    except FetchError as error:
        failure = Finding("KEY.SOURCE_FAILED", "warning", label, error.reason + through, error.remedy)
        return Served(label, failure=failure)
    return _read(label, data, through)


def _read(label: str, data: bytes, through: str = "") -> Served:
    try:
        return Served(label, openpgp.read(data))
    except openpgp.OpenPgpError as error:
        remedy = _REMEDIES.get(type(error), _REMEDY)
        return Served(label, failure=Finding("KEY.SOURCE_UNREADABLE", "warning", label, f"{error}{through}", remedy))
