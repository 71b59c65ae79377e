"""Writes an apt archive around .deb files: pool, indexes, Release, signatures."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .description import DescriptionError, Place, read_yaml, rounds, substitute
from .errors import run
from .keys import Gpg, Key

_KEYS = {"path", "key", "release", "suites", "flat_pool"}


@dataclass(frozen=True)
class Archive:
    """One archive, as ``archives.yml`` describes it.

    Attributes:
        name: How package descriptions call it.
        path: Below the document root.
        key: The name of the key that signs it.
        suites: Suite to the fields of its Release file.
        flat_pool: Whether all .debs lie in one directory, as AMD has it since 7.14.
    """

    name: str
    path: str
    key: str
    suites: Mapping[str, Mapping[str, str]]
    flat_pool: bool = False

    def pool_path(self, component: str, source: str, filename: str) -> str:
        """Return where a .deb lies below the archive's root."""
        if self.flat_pool:
            return f"pool/{component}/{filename}"
        prefix = source[:4] if source.startswith("lib") else source[0]
        return f"pool/{component}/{prefix}/{source}/{filename}"


@dataclass
class Index:
    """What one component of a suite lists.

    Attributes:
        debs: Paths below the archive's root.
        stanzas: Further stanzas, of packages that are never built.
    """

    debs: list[str] = field(default_factory=list)
    stanzas: list[str] = field(default_factory=list)


def load_archives(path: Path) -> tuple[dict[str, Archive], dict[str, Any]]:
    """Return the archives by name, and the descriptions of the keys.

    Raises:
        DescriptionError: Something is wrong with the file.
    """
    data = read_yaml(path)
    archives: dict[str, Archive] = {}
    for entry in data["archives"]:
        place = Place(path.name, str(entry.get("name", "")))
        body = {key: value for key, value in entry.items() if key != "foreach"}
        for row in rounds(entry["foreach"], place) if "foreach" in entry else [{}]:
            values = substitute(body, row, place)
            unknown = set(values) - _KEYS - {"name"}
            if unknown or not {"name", "path", "key", "suites"} <= set(values):
                raise place.error(f"needs name, path, key, suites; unknown: {', '.join(sorted(unknown)) or 'none'}")
            if values["key"] not in data["keys"]:
                raise place.at("key").error(f"no key {values['key']}; there are {', '.join(data['keys'])}")
            common = values.get("release", {})
            suites = {
                suite: {**common, "Suite": suite, "Codename": suite, **own} for suite, own in values["suites"].items()
            }
            archives[values["name"]] = Archive(
                values["name"], values["path"], values["key"], suites, values.get("flat_pool", False)
            )
    if not archives:
        raise DescriptionError(f"{path.name}: describes no archive")
    return archives, data["keys"]


def link(source: Path, target: Path) -> None:
    """Hard-link a file, or copy it where that cannot be."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        return
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def write_indexes(root: Path, suites: Mapping[str, Mapping[str, Index]]) -> None:
    """Write Packages and Packages.gz of all suites.

    Args:
        root: The archive's root directory.
        suites: Suite to component to what it lists.

    Raises:
        ArchiveError: apt-ftparchive refuses.
    """
    with TemporaryDirectory(prefix="indexes-") as work:
        blocks = [f'Dir {{ ArchiveDir "{root}"; CacheDir "{work}"; }};']
        # No BinCacheDB: it goes on describing a .deb that has been replaced by another of the same name.
        blocks.append('Default { Packages { Compress "."; }; };')
        for number, (suite, component, index) in enumerate(_each(suites)):
            listed = Path(work, str(number))
            listed.write_text("".join(f"{path}\n" for path in sorted(index.debs)), encoding="utf-8")
            _binary(root, suite, component).mkdir(parents=True, exist_ok=True)
            packages = f"dists/{suite}/{component}/binary-amd64/Packages"
            blocks.append(f'BinDirectory "{suite}/{component}" {{ FileList "{listed}"; Packages "{packages}"; }};')
        config = Path(work, "apt-ftparchive.conf")
        config.write_text("\n".join(blocks), encoding="utf-8")
        weak = [f"-oAPT::FTPArchive::{name}=false" for name in ("MD5", "SHA1", "SHA512")]
        run(["apt-ftparchive", *weak, "generate", config])
    for suite, component, index in _each(suites):
        path = _binary(root, suite, component) / "Packages"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        write_packages(path, "\n".join([text.rstrip("\n") + "\n" if text else "", *sorted(index.stanzas)]).lstrip("\n"))


def write_packages(path: Path, text: str) -> None:
    """Write an index and its .gz, which is stored without compression so that tampering does not change its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.with_name("Packages.gz").write_bytes(gzip.compress(text.encode(), compresslevel=0, mtime=0))


def release_text(root: Path, suite: str, fields: Mapping[str, str], components: Iterable[str]) -> bytes:
    """Return the Release file of a suite.

    Args:
        root: The archive's root directory, its indexes written.
        suite: The suite.
        fields: Its fields.
        components: The components that have an index.

    Raises:
        ArchiveError: apt-ftparchive refuses.
    """
    wanted = {"Architectures": "amd64", "Components": " ".join(components), **fields}
    options = [f"-oAPT::FTPArchive::Release::{name}={value}" for name, value in wanted.items()]
    weak = [f"-oAPT::FTPArchive::Release::{name}=false" for name in ("MD5", "SHA1", "SHA512")]
    environment = os.environ | {"LC_ALL": "C"}
    return run(["apt-ftparchive", *options, *weak, "release", f"dists/{suite}"], cwd=root, env=environment).stdout


def sign_release(directory: Path, text: bytes, key: Key, gpg: Gpg) -> None:
    """Write Release, InRelease and Release.gpg."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "Release").write_bytes(text)
    (directory / "InRelease").write_bytes(gpg.sign(text, key.signer, "--clearsign"))
    (directory / "Release.gpg").write_bytes(gpg.sign(text, key.signer, "--armor", "--detach-sign"))


def _each(suites: Mapping[str, Mapping[str, Index]]) -> list[tuple[str, str, Index]]:
    return [(suite, component, index) for suite, parts in suites.items() for component, index in parts.items()]


def _binary(root: Path, suite: str, component: str) -> Path:
    return root / "dists" / suite / component / "binary-amd64"
