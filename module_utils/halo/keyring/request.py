"""What is wanted of a keyring."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

_DAY = 86400
_FINGERPRINT = re.compile(r"[0-9A-F]{40}|[0-9A-F]{64}")


@dataclass(frozen=True)
class Request:
    """One keyring as it is wanted; the sources are tried in the order content, src, urls.

    Attributes:
        path: The file, absolute, ending in ``.gpg``.
        fingerprints: The primary keys that it is to hold, hexadecimal in capitals; none for a file that is to go.
        content: An armoured key.
        src: A file on the host that holds the keys.
        urls: URLs that serve the keys.
        refresh_days: How many days before its expiry a key is fetched again.
        timeout: How long one URL may take, in seconds.

    Raises:
        ValueError: A value with which the keyring would be of no use, or would be trusted for more than meant.
    """

    path: str
    fingerprints: tuple[str, ...] = ()
    content: str = ""
    src: str = ""
    urls: tuple[str, ...] = ()
    refresh_days: int = 30
    timeout: float = 30

    def __post_init__(self) -> None:
        path = PurePosixPath(self.path)
        if not path.is_absolute() or ".." in path.parts:
            raise ValueError(f"path {self.path!r} is not absolute, or has .. in it")
        if path.suffix != ".gpg":
            raise ValueError(f"path {self.path!r} does not end in .gpg, by which apt knows a binary keyring")
        if path.parent.name == "trusted.gpg.d":
            raise ValueError(f"path {self.path!r}: apt would trust these keys for every archive; use /etc/apt/keyrings")
        for fingerprint in self.fingerprints:
            if not _FINGERPRINT.fullmatch(fingerprint):
                raise ValueError(
                    f"fingerprint {fingerprint!r} is not the whole one of 40 or 64 hexadecimal digits; short key IDs "
                    "can be forged"
                )
        if self.fingerprints and not (self.content or self.src or self.urls):
            raise ValueError("none of content, src and urls says where the keys are to come from")
        if self.refresh_days < 0 or not 0 < self.timeout <= _DAY:
            raise ValueError(f"refresh_days {self.refresh_days} or timeout {self.timeout:g} is out of bounds")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Request:
        """Make a request from the plain form in which roles write it.

        Args:
            data: The keys of :class:`Request`, where ``None`` is the same as an absent key. Fingerprints may have
                spaces and small letters.

        Raises:
            ValueError: An unknown or wrong field, no fingerprint.
        """
        given = {key: value for key, value in data.items() if value is not None}
        unknown = sorted(set(given) - set(cls.__dataclass_fields__))
        if unknown:
            raise ValueError(f"unknown keys: {', '.join(unknown)}")
        for key in ("path", "content", "src"):
            if not isinstance(given.get(key, ""), str):
                raise ValueError(f"{key} {given[key]!r} is no text")
        for key in ("fingerprints", "urls"):
            values = given.get(key, [])
            if not isinstance(values, (list, tuple)) or not all(isinstance(value, str) for value in values):
                raise ValueError(f"{key} {values!r} is no list of texts")
        fingerprints = [re.sub(r"\s|^0[xX]", "", text).upper() for text in given.get("fingerprints", [])]
        if not fingerprints:
            raise ValueError("no fingerprint says which keys are wanted")
        return cls(
            path=given.get("path", ""),
            fingerprints=tuple(dict.fromkeys(fingerprints)),
            content=given.get("content", ""),
            src=given.get("src", ""),
            urls=tuple(given.get("urls", [])),
            # Templates may have made texts of them.
            refresh_days=int(str(given.get("refresh_days", cls.refresh_days))),
            timeout=float(str(given.get("timeout", cls.timeout))),
        )
