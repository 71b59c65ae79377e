"""What a stack leaves open: the target in names, mirrors in URLs, what a channel to be excluded consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from .findings import Finding

GFX = "{gfx}"


def rocm(
    entry: Mapping[str, Any], channel: str, gfx: str, stacks: Sequence[Mapping[str, Any]], mirror: str = ""
) -> dict[str, Any]:
    """Return what an entry says of ROCm, for one target.

    Args:
        entry: ``rocm`` of an entry of a stack.
        channel: The stack's channel.
        gfx: The target.
        stacks: The stacks there are; channels that an entry excludes are made of their packages.
        mirror: As :func:`archive` takes it.
    """
    filled: dict[str, Any] = _with_target(entry, gfx)
    filled["replaces"] = list(filled.get("replaces", []))
    filled["metas"] = list(filled.get("metas", []))
    # The distribution's archive is everybody's.
    others = sorted({stack["channel"] for stack in stacks} - {channel, "distro"})
    filled["foreign_origins"] = origins_of(others, stacks)
    filled["foreign_uris"] = uris_of(others, stacks, mirror)
    filled["conflicts"] = [
        {"channel": channel, "packages": packages_of(channel, stacks)} for channel in filled.get("conflicts", [])
    ]
    return filled


def origins_of(channels: Sequence[str], stacks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the Origins of the archives that channels' stacks come from, sorted."""
    return sorted({one["rocm"]["origin"] for stack in stacks if stack["channel"] in channels for one in stack["os"]})


def uris_of(channels: Sequence[str], stacks: Sequence[Mapping[str, Any]], mirror: str = "") -> list[str]:
    """Return the URIs below which channels' archives lie, of all releases: host and first directory, sorted."""
    uris = {
        "/".join(uri.split("/")[:4])
        for stack in stacks
        if stack["channel"] in channels
        for one in stack["os"]
        for source in (one.get("archive") or {}).get("sources", [])
        for uri in source["uris"]
    }
    return sorted(uris | {mirrored(uri, mirror) for uri in uris})


def packages_of(channel: str, stacks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the globs of all packages that a channel's stacks are made of, sorted."""
    return sorted(
        {glob for stack in stacks if stack["channel"] == channel for one in stack["os"] for glob in one["rocm"]["set"]}
    )


def archive(entry: Mapping[str, Any] | None, mirror: str) -> dict[str, Any] | None:
    """Return an entry's archive with its URLs led to a mirror, nothing where there is none.

    Args:
        entry: ``archive`` of an entry of a stack.
        mirror: URL below which the archives lie at ``HOST/PATH``, or nothing.
    """
    if entry is None:
        return None
    key = {**entry["key"], "urls": [mirrored(url, mirror) for url in entry["key"]["urls"]]}
    sources = [{**source, "uris": [mirrored(url, mirror) for url in source["uris"]]} for source in entry["sources"]]
    return {**entry, "key": key, "sources": sources}


def mirrored(url: str, mirror: str) -> str:
    """Return where a URL lies on a mirror: below the mirror's URL, in a directory of its host's name."""
    return f"{mirror.rstrip('/')}/{url.partition('://')[2]}" if mirror else url


def mirror_findings(mirror: str) -> list[Finding]:
    """Return what is wrong with the URL of a mirror."""
    if not mirror:
        return []
    try:
        parts = urlsplit(mirror)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        usable = False
    # apt takes blanks in a source for the end of the URL.
    if usable and not any(character.isspace() for character in mirror):
        return []
    evidence = "it is no URL with http or https and a host, and no query behind it"
    remedy = "-e halo_mirror=https://mirror.example.org/amd, below which each archive lies at HOST/PATH"
    return [Finding("STACK.MIRROR_INVALID", "error", mirror, evidence, remedy)]


def _with_target(value: Any, gfx: str) -> Any:
    if isinstance(value, str):
        return value.replace(GFX, gfx)
    if isinstance(value, Mapping):
        return {key: _with_target(one, gfx) for key, one in value.items()}
    return [_with_target(one, gfx) for one in value] if isinstance(value, list) else value
