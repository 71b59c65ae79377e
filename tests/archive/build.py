"""Builds the test archive: AMD's side from descriptions, Ubuntu's from Debian's packages and a few descriptions."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from . import broken, server
from .deb import build as build_deb
from .deb import stanza
from .debian import AptRoot
from .description import DescriptionError, Package, load, read_yaml
from .elf import Compiler
from .errors import ArchiveError
from .keys import Key, make, served, signing
from .publish import Archive, Index, link, load_archives, release_text, sign_release, write_indexes

HERE = Path(__file__).parent

#: What can be built on its own; all but ``amd`` are releases of Ubuntu, by codename.
PARTS = ("amd", "jammy", "noble")

Suites = dict[str, dict[str, dict[str, Index]]]


@dataclass(frozen=True)
class Site:
    """The directories of what is built.

    Attributes:
        out: What ``build --out`` was given. ``www`` is the document root, ``broken`` holds the variants' files.
        cache: Real packages, fetched once for all checkouts.
    """

    out: Path
    cache: Path

    @property
    def www(self) -> Path:
        """The document root."""
        return self.out / "www"

    @property
    def keys(self) -> Path:
        """The keys, secret ones too."""
        return self.out / "keys"


def load_packages(directory: Path, archives: Mapping[str, Archive]) -> list[Package]:
    """Return all described packages.

    Raises:
        DescriptionError: One is wrong, or is to be published where there is no archive or suite.
    """
    packages = [package for path in sorted(directory.glob("*.yml")) for package in load(path)]
    for package in packages:
        for target in package.targets:
            archive = archives.get(target.archive)
            if archive is None or target.suite not in archive.suites:
                known = ", ".join(f"{name}/{suite}" for name, archive in archives.items() for suite in archive.suites)
                raise DescriptionError(
                    f"package {package.name}: no suite {target.archive}/{target.suite}; there are {known}"
                )
    return packages


def build(site: Site, parts: Sequence[str] = PARTS, *, refresh: bool = True) -> dict[str, Any]:
    """Build the parts that are not built already from the same inputs, and return the manifest ``archive.json``.

    Args:
        site: Where to build.
        parts: Which of :data:`PARTS`.
        refresh: Whether Debian's lists are refreshed first; without it those that are there decide what is newest.

    Raises:
        ArchiveError: Something cannot be built; the message says what.
    """
    for directory in (site.www, site.keys, site.cache):
        directory.mkdir(parents=True, exist_ok=True)
    archives, specs = load_archives(HERE / "archives.yml")
    packages = load_packages(HERE / "packages", archives)
    keys = make(specs, site.keys)
    for key in keys.values():
        for path, form in key.serve.items():
            (site.www / path).parent.mkdir(parents=True, exist_ok=True)
            (site.www / path).write_bytes(served(key.public(site.keys), form))
    built: dict[str, str] = {}
    for part in parts:
        started = time.monotonic()
        if part == "amd":
            done = _build_amd(site, archives, packages, keys)
        else:
            done = _build_ubuntu(site, part, archives["ubuntu"], packages, keys, refresh=refresh)
        built[part] = f"{'built' if done else 'up to date'} in {time.monotonic() - started:.1f} s"
    manifest = _manifest(site, archives, keys)
    (site.out / "archive.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return manifest | {"built": built}


def _build_amd(
    site: Site, archives: Mapping[str, Archive], packages: Sequence[Package], keys: Mapping[str, Key]
) -> bool:
    mine = {name: archive for name, archive in archives.items() if name != "ubuntu"}
    inputs = _digest(sorted(HERE.rglob("*.py")), sorted(HERE.rglob("*.yml")), {n: k.signer for n, k in keys.items()})
    record = site.out / "amd.inputs"
    if _same(record, inputs):
        return False
    for tree in (*(site.www / archive.path for archive in mine.values()), site.out / "broken"):
        shutil.rmtree(tree, ignore_errors=True)
    suites = _pool(site, mine, [p for p in packages if any(t.archive in mine for t in p.targets)])
    with signing(site.keys, [*{archive.key for archive in mine.values()}, "stranger"]) as gpg:
        for name, archive in mine.items():
            _publish(site, archive, suites[name], keys, gpg)
            broken.write_index_variants(site.www / archive.path, site.out / "broken", archive, keys, gpg, time.time())
    broken.write_key_variants(site.out / "broken", keys, site.keys)
    record.write_text(inputs, encoding="utf-8")
    return True


def _build_ubuntu(
    site: Site,
    codename: str,
    archive: Archive,
    packages: Sequence[Package],
    keys: Mapping[str, Key],
    *,
    refresh: bool,
) -> bool:
    recipe = read_yaml(HERE / "republish.yml")[codename]
    apt = AptRoot(site.cache / recipe["release"], recipe["release"])
    if refresh or not apt.has_lists:
        apt.update()
    real: dict[str, str] = {}
    for group in recipe["groups"]:
        real.update(apt.closure(group))
    suites = {suite: fields for suite, fields in archive.suites.items() if fields["Codename"] == codename}
    mine = [p for p in packages if any(t.archive == "ubuntu" and t.suite in suites for t in p.targets)]
    # The closure carries the versions, so a point release of Debian is another input and nothing else is.
    inputs = _digest(sorted(HERE.rglob("*.py")), sorted(HERE.rglob("*.yml")), {**real, "key": keys["ubuntu"].signer})
    record = site.out / f"{codename}.inputs"
    if _same(record, inputs):
        return False
    apt.download(real)
    part = Archive(archive.name, archive.path, archive.key, suites)
    indexes = _pool(site, {"ubuntu": part}, mine)["ubuntu"]
    for file, package in real.items():
        universe = any(fnmatch(package.partition("=")[0], glob) for glob in recipe["universe"])
        component = "universe" if universe else "main"
        path = archive.pool_path(component, package.partition("=")[0], file.replace("%3a", "%3A"))
        path = path.replace("%3A", "_")
        link(apt.archives / file, site.www / archive.path / path)
        indexes[codename][component].debs.append(path)
    with signing(site.keys, [archive.key]) as gpg:
        _publish(site, part, indexes, keys, gpg)
    record.write_text(inputs, encoding="utf-8")
    return True


def _pool(site: Site, archives: Mapping[str, Archive], packages: Sequence[Package]) -> Suites:
    """Build packages, put them where they are published, and return what the indexes list."""
    components = {name: ("main", "universe") if name == "ubuntu" else ("main",) for name in archives}
    suites: Suites = {
        name: {suite: {component: Index() for component in components[name]} for suite in archive.suites}
        for name, archive in archives.items()
    }
    real = [package for package in packages if package.index_only is None]
    with TemporaryDirectory(prefix=".debs-", dir=site.out) as work, ThreadPoolExecutor() as pool:
        compiler = Compiler(Path(work))

        def one(number: int) -> Path:
            # Two packages of one name and version may differ by suite: each has a directory of its own.
            directory = Path(work, str(number))
            directory.mkdir()
            return build_deb(real[number], directory, compiler)

        debs = {id(package): deb for package, deb in zip(real, pool.map(one, range(len(real))), strict=True)}
        placed: dict[Path, Package] = {}
        for package, target in [(each, target) for each in packages for target in each.targets]:
            if target.archive not in archives or target.suite not in suites[target.archive]:
                continue
            archive, index = archives[target.archive], suites[target.archive][target.suite][target.component]
            path = archive.pool_path(target.component, package.control.get("Source", package.name), package.filename)
            if package.index_only is not None:
                index.stanzas.append(stanza(package, path))
                continue
            place = site.www / archive.path / path
            if placed.setdefault(place, package) is not package:
                raise ArchiveError(f"{archive.name}: two different packages want to be {path}")
            if path not in index.debs:
                place.unlink(missing_ok=True)
                link(debs[id(package)], place)
                index.debs.append(path)
    return suites


def _publish(
    site: Site, archive: Archive, suites: Mapping[str, Mapping[str, Index]], keys: Mapping[str, Key], gpg: Any
) -> None:
    root = site.www / archive.path
    for suite in suites:
        shutil.rmtree(root / "dists" / suite, ignore_errors=True)
    write_indexes(root, suites)
    for suite, components in suites.items():
        text = release_text(root, suite, archive.suites[suite], components)
        sign_release(root / "dists" / suite, text, keys[archive.key], gpg)


def _manifest(site: Site, archives: Mapping[str, Archive], keys: Mapping[str, Key]) -> dict[str, Any]:
    published = [
        {"name": archive.name, "path": archive.path, "suite": suite, "key": archive.key, **fields}
        for archive in archives.values()
        for suite, fields in archive.suites.items()
        if (site.www / archive.path / "dists" / suite / "InRelease").exists()
    ]
    variants = {path.parent.name for path in (site.out / "broken").glob("*/*")} | {
        rule.variant for rule in server.RULES
    }
    return {
        "keys": {name: asdict(key) for name, key in keys.items()},
        "archives": published,
        "variants": sorted(variants),
    }


def _digest(*parts: Iterable[Path] | Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Mapping):
            digest.update(json.dumps(part, sort_keys=True).encode())
        else:
            for path in part:
                digest.update(str(path.relative_to(HERE)).encode() + path.read_bytes())
    return digest.hexdigest()


def _same(record: Path, inputs: str) -> bool:
    if record.exists() and record.read_text(encoding="utf-8") == inputs:
        return True
    record.unlink(missing_ok=True)
    return False
