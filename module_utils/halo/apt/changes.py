"""From marks in the depcache to changes with their reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .dpkgdb import Database
from .model import Change
from .reasons import Reasons
from .solve import Target
from .versions import compare
from .view import View, same
from .wishes import Wish

_ORIGINS = {"debian": "Debian", "ubuntu": "Ubuntu"}


def host_release(host: Path) -> tuple[str, str]:
    """Return Origin and codename of the archive that a host's release comes from, by its ``os-release``."""
    text = ""
    for name in ("etc/os-release", "usr/lib/os-release"):
        if (host / name).is_file():
            text = (host / name).read_text(encoding="utf-8")
            break
    fields = dict(re.findall(r'^(ID|VERSION_CODENAME)="?([^"\n]*)"?$', text, re.MULTILINE))
    name = fields.get("ID", "")
    return _ORIGINS.get(name, name.capitalize()), fields.get("VERSION_CODENAME", "")


def marked(view: View, database: Database, targets: Iterable[Target]) -> list[Any]:
    """Return the packages that change by what is marked.

    What is newly installed hangs on the targets by dependencies, so those are followed instead of looking at every
    package that exists; all are looked at when apt has counted more.
    """
    depcache = view.depcache
    found: dict[int, Any] = {}
    stack = [target.package for target in targets]
    keys = ((package.name, package.arch) for package in database.packages.values())
    stack += [view.cache[key] for key in keys if key in view.cache]
    seen = set()
    while stack:
        package = stack.pop()
        if package.id in seen:
            continue
        seen.add(package.id)
        version = view.outcome(package)
        if same(version, package.current_ver):
            continue
        found[package.id] = package
        for group in view.groups(version, view.wanted_kinds) if version is not None else ():
            stack.extend(target.parent_pkg for dependency in group for target in dependency.all_targets())
    if len(found) != depcache.inst_count + depcache.del_count:
        found = {package.id: package for package in view.cache.packages if view.changed(package)}
    return sorted(found.values(), key=lambda package: (package.name, package.architecture))


def build(
    view: View,
    packages: Iterable[Any],
    targets: Iterable[Target],
    absent: Mapping[str, Wish],
    database: Database,
    release: tuple[str, str],
) -> list[Change]:
    """Describe what is marked.

    Args:
        view: The opened cache, with the changes marked.
        packages: The packages that change, see :func:`marked`.
        targets: The wishes for installed packages.
        absent: Package name -> the wish that it be absent.
        database: The host before the change.
        release: Origin and codename of the host's own release.

    Returns:
        The changes, and a ``mark_manual`` for each wished package that stays and is marked automatic.
    """
    packages, targets = list(packages), list(targets)
    wished = {target.package.id: target.goal.text() for target in targets}
    wished.update({p.id: absent[p.name].text() for p in packages if p.name in absent})
    # What would stay by its own wish, and moves all the same, has its reason elsewhere.
    moved = {target.package.id for target in targets if same(target.version, target.package.current_ver)}
    reasons = Reasons(view, packages, {number: text for number, text in wished.items() if number not in moved})
    changes = [_change(view, package, package.id in wished, reasons, database, release) for package in packages]
    for target in targets:
        current = target.package.current_ver
        if current is not None and not view.changed(target.package) and view.depcache.is_auto_installed(target.package):
            changes.append(
                Change(
                    name=target.package.name,
                    arch=current.arch,
                    kind="mark_manual",
                    old=current.ver_str,
                    new=current.ver_str,
                    wished=True,
                    reasons=(target.goal.text(),),
                )
            )
    return changes


def _change(
    view: View, package: Any, wished: bool, reasons: Reasons, database: Database, release: tuple[str, str]
) -> Change:
    before, after = package.current_ver, view.outcome(package)
    origin, suite = view.source(after) if after is not None else ("", "")
    kind = _kind(before, after)
    return Change(
        name=package.name,
        arch=(after or before).arch,
        kind=kind,
        old=before.ver_str if before is not None else "",
        new=after.ver_str if after is not None else "",
        origin=origin,
        suite=suite,
        priority=view.priority(after) if after is not None else 0,
        size=after.size if after is not None else 0,
        wished=wished,
        auto=after is not None and not wished and bool(view.depcache.is_auto_installed(package)),
        reasons=(*reasons.of(package), *(reasons.against(package) if kind == "downgrade" else ())),
        held=package.name in database.held,
        essential=bool(package.essential or package.important),
        foreign=_foreign(view, before, after, release),
    )


def _kind(before: Any, after: Any) -> str:
    if after is None:
        return "remove"
    if before is None:
        return "install"
    return "upgrade" if compare(before.ver_str, after.ver_str) < 0 else "downgrade"


def _foreign(view: View, before: Any, after: Any, release: tuple[str, str]) -> bool:
    """Say whether a package moves to another release or origin than its own and the host's."""
    if before is None or after is None:
        return False
    return not view.releases(after) & {release, *view.releases(before)}
