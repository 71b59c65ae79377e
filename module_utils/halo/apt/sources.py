"""Sources that a role is going to bring, with their keys, for planning before they are on the host."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .. import keyring
from ..findings import Finding, errors

# apt silently skips a file in sources.list.d whose name holds anything else.
_FILE = re.compile(r"[A-Za-z0-9_.-]+\.(sources|list)")


@dataclass(frozen=True)
class Sources:
    """Sources as they will be.

    Attributes:
        files: Name of a file in ``sources.list.d`` -> its text.
        keyrings: Path of a keyring -> its bytes, of those that the host does not have, or not in this form.
    """

    files: dict[str, str] = field(default_factory=dict)
    keyrings: dict[str, bytes] = field(default_factory=dict)


def prepare(items: Iterable[Mapping[str, Any]], root: str = "/") -> tuple[Sources, list[Finding]]:
    """Find out what the keyrings of sources will be, fetching keys where the host has none that will do.

    Args:
        items: ``file``, ``text``, ``key`` (the options of module ``apt_keyring``) and ``environment`` (variables for
            fetching) of each source.
        root: The root directory of the host.

    Returns:
        The sources, and the errors for which none of them can be used. What else there is to say of a key is said by
        module ``apt_keyring``.
    """
    files, keyrings, findings = {}, {}, []
    for item in items:
        if not _FILE.fullmatch(item["file"]):
            evidence = "the name of a source has letters, digits, _, . and - only, and ends in .sources or .list"
            findings.append(
                Finding("APT.WISH_INVALID", "error", item["file"], evidence, "correct it in the role that brings it")
            )
            continue
        files[item["file"]] = item["text"]
        with _environment(item.get("environment") or {}):
            planned = keyring.plan_options(item["key"], True, int(time.time()), root)
        findings += errors(planned.findings)
        if planned.changed and planned.after.data is not None:
            keyrings[item["key"]["path"]] = planned.after.data
    return Sources(files, keyrings), findings


@contextmanager
def _environment(variables: Mapping[str, Any]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update({name: str(value) for name, value in variables.items()})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
