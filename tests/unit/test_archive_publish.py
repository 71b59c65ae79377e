"""Indexes of the test archive, written by apt-ftparchive."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

from tests.archive.deb import build
from tests.archive.description import Package
from tests.archive.elf import Compiler
from tests.archive.publish import Archive, Index, release_text, write_indexes

PATH = "pool/main/pkg_1.0_all.deb"


def package(depends: str) -> Package:
    control = {"Package": "pkg", "Version": "1.0", "Architecture": "all", "Maintainer": "x <x@example.invalid>"}
    return Package(
        control | {"Depends": depends, "Description": "x"}, files={"/usr/x": {"content": "x", "mode": 0o644}}
    )


def publish(root: Path, depends: str, stanzas: list[str]) -> str:
    """Build the package in place of what was there, and return the index."""
    (root / PATH).parent.mkdir(parents=True, exist_ok=True)
    build(package(depends), (root / PATH).parent, Compiler(root))
    write_indexes(root, {"stable": {"main": Index(debs=[PATH], stanzas=stanzas)}})
    return (root / "dists/stable/main/binary-amd64/Packages").read_text(encoding="utf-8")


def test_the_index_follows_a_package_that_is_built_anew(tmp_path: Path) -> None:
    assert "Depends: libc6\n" in publish(tmp_path, "libc6", [])
    index = publish(tmp_path, "libc6, file", [])
    assert "Depends: libc6, file\n" in index
    assert f"SHA256: {hashlib.sha256((tmp_path / PATH).read_bytes()).hexdigest()}\n" in index


def test_a_package_that_is_never_built_stands_in_the_index(tmp_path: Path) -> None:
    index = publish(tmp_path, "libc6", ["Package: big\nVersion: 1\nSize: 450000000\n"])
    stanzas = index.strip().split("\n\n")
    assert [stanza.splitlines()[0] for stanza in stanzas] == ["Package: pkg", "Package: big"]
    compressed = tmp_path / "dists/stable/main/binary-amd64/Packages.gz"
    assert gzip.decompress(compressed.read_bytes()).decode() == index


def test_release_names_its_fields_and_the_indexes(tmp_path: Path) -> None:
    index = publish(tmp_path, "libc6", []).encode()
    fields = {"Origin": "AMD ROCm", "Suite": "stable", "Codename": "stable"}
    release = release_text(tmp_path, "stable", fields, ["main"]).decode()
    for line in ("Origin: AMD ROCm", "Suite: stable", "Components: main", "Architectures: amd64"):
        assert f"{line}\n" in release
    assert f" {hashlib.sha256(index).hexdigest()} " in release
    assert "MD5Sum" not in release


def test_pools(tmp_path: Path) -> None:
    archive = Archive("a", "p", "k", {})
    assert archive.pool_path("main", "hip-dev", "x.deb") == "pool/main/h/hip-dev/x.deb"
    assert archive.pool_path("universe", "libllvm17", "x.deb") == "pool/universe/libl/libllvm17/x.deb"
    assert Archive("a", "p", "k", {}, flat_pool=True).pool_path("main", "hip-dev", "x.deb") == "pool/main/x.deb"
