"""Small random worlds of packages: archives, what is installed, holds, pins and wishes; and what holds in them."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.apt_host import Answer, AptHost

ROOT = "/srv/root"

# Writes a root directory with apt's and dpkg's files of a world, and its archives, of which there are indexes alone.
_WRITE = r"""
import hashlib, json, pathlib, shutil, sys
world = json.load(sys.stdin)
root = pathlib.Path(world["root"])
shutil.rmtree(root, ignore_errors=True)
for directory in ("etc/apt/preferences.d", "var/lib/dpkg", "var/lib/apt/lists", "var/cache/apt/archives", "usr"):
    (root / directory).mkdir(parents=True)
shutil.copy("/etc/os-release", root / "etc/os-release")
sources = ""
for name, index in world["archives"].items():
    base = root / "srv" / name
    base.mkdir(parents=True)
    (base / "Packages").write_text(index)
    digest = hashlib.sha256(index.encode()).hexdigest()
    (base / "Release").write_text(
        f"Origin: {name}\nSuite: {name}\nCodename: {name}\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n"
        f"SHA256:\n {digest} {len(index.encode())} Packages\n"
    )
    sources += f"deb [trusted=yes] file:{base} ./\n"
(root / "etc/apt/sources.list").write_text(sources)
(root / "etc/apt/preferences").write_text(world["preferences"])
(root / "var/lib/dpkg/status").write_text(world["status"])
(root / "var/lib/apt/extended_states").write_text(world["extended_states"])
"""


@dataclass(frozen=True)
class Stand:
    """One version of a stand-in; ``depends`` and ``conflicts`` are relations as a control file writes them."""

    name: str
    version: str
    archive: str
    depends: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()

    def stanza(self, status: str = "") -> str:
        """Return its stanza in an index, or in dpkg's status."""
        fields = {
            "Package": self.name,
            "Status": status,
            "Version": self.version,
            "Architecture": "all",
            "Maintainer": "nobody <nobody@example.org>",
            "Depends": ", ".join(self.depends),
            "Conflicts": ", ".join(self.conflicts),
            "Provides": ", ".join(self.provides),
            "Description": "stand-in",
        }
        if not status:
            fields.update({"Filename": f"./{self.name}_{self.version}.deb", "Size": "1", "SHA256": "0" * 64})
        return "".join(f"{key}: {value}\n" for key, value in fields.items() if value) + "\n"

    def meets(self, relation: str) -> bool:
        """Say whether this version is one that a relation without alternatives means."""
        name, _, bound = relation.partition(" (")
        if name in self.provides:
            return not bound
        if name != self.name:
            return False
        operator, _, limit = bound.rstrip(")").partition(" ")
        mine, other = int(self.version), int(limit or 0)
        return {"": True, ">=": mine >= other, "=": mine == other, "<<": mine < other}[operator]


@dataclass
class World:
    """What a host and its archives hold."""

    stands: list[Stand]
    installed: dict[str, Stand] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    auto: set[str] = field(default_factory=set)
    pins: dict[str, tuple[str, int]] = field(default_factory=dict)
    low: tuple[str, ...] = ("low",)

    def write(self, host: AptHost) -> None:
        """Make the world's root directory in a container."""
        stanzas = [f"Package: *\nPin: release n={name}\nPin-Priority: 100\n" for name in self.low]
        stanzas += [
            f"Package: {name}\nPin: version {version}\nPin-Priority: {priority}\n"
            for name, (version, priority) in self.pins.items()
        ]
        world = {
            "root": ROOT,
            "archives": {
                archive: "".join(stand.stanza() for stand in self.stands if stand.archive == archive)
                for archive in ("main", *self.low)
            },
            "preferences": "\n".join(stanzas),
            "status": "".join(
                stand.stanza(f"{'hold' if name in self.held else 'install'} ok installed")
                for name, stand in self.installed.items()
            ),
            "extended_states": "".join(
                f"Package: {name}\nArchitecture: amd64\nAuto-Installed: 1\n\n" for name in sorted(self.auto)
            ),
        }
        host.run(f"cat >/halo/write.py <<'END'\n{_WRITE}\nEND")
        host.run("python3 /halo/write.py", stdin=json.dumps(world))

    def plan(self, host: AptHost, wishes: Iterable[dict[str, Any]], **params: Any) -> Answer:
        """Write the world and plan in it."""
        self.write(host)
        return host.plan(*wishes, root=ROOT, refresh="always", **params)


def consistent(chosen: Iterable[Stand]) -> bool:
    """Say whether versions can be installed beside each other."""
    there = list(chosen)
    return all(
        all(any(other.meets(part) for part in group.split(" | ") for other in there) for group in stand.depends)
        and not any(other.meets(part) for part in stand.conflicts for other in there if other.name != stand.name)
        for stand in there
    )


def make(generator: random.Random) -> World:
    """Make a random world with a consistent host."""
    names = [f"p{number}" for number in range(7)]

    def relation(owner: str) -> str:
        if generator.random() < 0.1:
            return generator.choice(["virtual", "missing"])
        bound = generator.choice(["", "", f" (>= {generator.randint(1, 3)})", " (= 2)", " (<< 2)"])
        return generator.choice([name for name in names if name != owner]) + bound

    stands = []
    for name in names:
        for version in sorted(generator.sample("123", generator.randint(1, 3))):
            groups = [
                " | ".join(dict.fromkeys(relation(name) for _ in range(generator.choice([1, 1, 2]))))
                for _ in range(generator.choice([0, 1, 1, 2]))
            ]
            conflicts = [relation(name)] if generator.random() < 0.3 else []
            provides = ["virtual"] if generator.random() < 0.15 else []
            archive = generator.choice(["main", "main", "low"])
            stands.append(Stand(name, version, archive, tuple(groups), tuple(conflicts), tuple(provides)))
    world = World(stands)
    for stand in generator.sample(stands, len(stands)):
        if len(world.installed) < 4 and stand.name not in world.installed:
            world.installed[stand.name] = stand
            if not consistent(world.installed.values()):
                del world.installed[stand.name]
    for name in world.installed:
        if generator.random() < 0.25:
            world.held.add(name)
        elif generator.random() < 0.4:
            world.auto.add(name)
    if generator.random() < 0.5:
        stand = generator.choice(stands)
        world.pins[stand.name] = (stand.version, generator.choice([600, 995]))
    return world


def solutions(world: World, steps: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """Yield the choices of versions, by name, that meet all of some steps of an explanation, found by trying all."""
    names = sorted({step["package"] for step in steps} | {name for step in steps for name, _ in step["versions"]})
    offered = [[None, *(stand for stand in world.stands if stand.name == name)] for name in names]
    for choice in itertools.product(*offered):
        chosen = {stand.name: stand for stand in choice if stand is not None}
        if all(_met(world, step, chosen) for step in steps):
            yield {name: stand.version for name, stand in chosen.items()}


def _met(world: World, step: dict[str, Any], chosen: dict[str, Stand]) -> bool:
    own = chosen.get(step["package"])
    kind, _, relation = step["relation"].partition(" ")
    if step["kind"] == "absent":
        return own is None
    if step["kind"] in ("wish", "stay", "hold"):
        return own is not None and [own.name, own.version] in step["versions"]
    if step["kind"] == "candidate":
        installed = world.installed.get(step["package"])
        return own is None or own.version in (step["version"], installed.version if installed else None)
    if own is None or own.version != step["version"]:
        return True
    others = [stand for stand in chosen.values() if stand.name != own.name]
    if kind in ("Conflicts", "Breaks"):
        return not any(stand.meets(relation) for stand in others)
    return any(stand.meets(part) for part in relation.split(" | ") for stand in chosen.values())


def reduced(world: World, steps: list[dict[str, Any]]) -> World:
    """Return a world with only those relations between packages, holds and absences that some steps name."""
    told = {(step["package"], step["version"], step["relation"]) for step in steps}
    stands = [
        Stand(
            stand.name,
            stand.version,
            stand.archive,
            tuple(group for group in stand.depends if (stand.name, stand.version, f"Depends {group}") in told),
            tuple(part for part in stand.conflicts if (stand.name, stand.version, f"Conflicts {part}") in told),
            stand.provides,
        )
        for stand in world.stands
    ]
    by_version = {(stand.name, stand.version): stand for stand in stands}
    installed = {name: by_version[name, stand.version] for name, stand in world.installed.items()}
    held = {step["package"] for step in steps if step["kind"] == "hold"}
    return World(stands, installed, held, set(), dict(world.pins))
