"""Whether each source has a key that is there, is the right one, and lasts; and copies that nobody renews."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..openpgp import Key, earliest, iso
from .lists import Archive
from .model import Entry, Problem, Question, Wanted
from .stores import Store, named, within
from .strays import RETIRE

_DAY_S = 86400


def source_keys(found: Iterable[Archive], stores: Mapping[str, Store], question: Question) -> list[Problem]:
    """Return what is wrong with the keys of the sources in use.

    Which of several keys signs an archive is known of the stack's archives, and of those whose signed lists are there.
    Of others only what holds for all of their keys is said.
    """
    problems = []
    seen = set()
    for archive in found:
        entry = archive.entry
        mark = (*entry.key, entry.signed_by)
        if mark in seen:
            continue
        seen.add(mark)
        if entry.trusted == "yes":
            problems.append(_unverified(entry))
        else:
            found_here = _source(archive, stores, question)
            if question.foreign(entry):
                # Nobody keeps the key of a channel that was left.
                found_here = [replace(one, remedy=f"{RETIRE}; else {one.remedy}") for one in found_here]
            problems += found_here
    return problems


def _source(archive: Archive, stores: Mapping[str, Store], question: Question) -> list[Problem]:
    entry, wanted = archive.entry, question.wanted(archive.entry)
    inline = within(entry)
    paths = [name for name in named(entry) if name.startswith("/")]
    prints = [name.rstrip("!").upper() for name in named(entry) if not name.startswith("/")]
    if inline:
        used = [inline]
    elif paths:
        used = [stores[path] for path in paths]
    else:
        used = [store for store in stores.values() if store.shared]
    unusable = [store for store in used if store.problem] if inline or paths else []
    if unusable and len(unusable) == len(used):
        return [_unreadable(entry, store, wanted) for store in unusable]
    keys = [key for store in used if not store.problem for key in store.keys]
    if prints:
        keys = [key for key in keys if key.fingerprint in prints]
    places = inline.name if inline else ", ".join(paths) or "/etc/apt/trusted.gpg and /etc/apt/trusted.gpg.d"
    return _judged(archive, keys, places, bool(inline or paths or prints), wanted, question)


def _judged(
    archive: Archive, keys: Sequence[Key], places: str, dedicated: bool, wanted: Wanted | None, question: Question
) -> list[Problem]:
    entry = archive.entry
    if wanted and wanted.fingerprints:
        missing = [name for name in wanted.fingerprints if name not in {key.fingerprint for key in keys}]
        if missing:
            return [_absent(entry, keys if dedicated else (), places, missing, wanted)]
        keys = [key for key in keys if key.fingerprint in wanted.fingerprints]
    elif archive.issuers:
        signers = [key for key in keys if _names(key) & archive.issuers]
        if not signers:
            return [_absent(entry, keys if dedicated else (), places, _longest(archive.issuers), None)]
        keys = signers
    elif not dedicated:
        # Any of the shared keys may be the one.
        return []
    if not keys:
        return [_absent(entry, (), places, [], wanted)]
    return _lasting(entry, keys, places, wanted, question)


def _lasting(
    entry: Entry, keys: Sequence[Key], places: str, wanted: Wanted | None, question: Question
) -> list[Problem]:
    """Say of keys, each of which will do, whether the one that lasts longest does."""
    good = [key for key in keys if not key.revoked]
    ends = [key.signs_until for key in good]
    until = None if None in ends else max((end for end in ends if end is not None), default=0)
    if until is None or until > question.now + question.expiring_days * _DAY_S:
        return []
    longest = max(good or keys, key=lambda key: key.signs_until or 0)
    when = iso(until) if good else "revoked by its owner"
    expired = until <= question.now
    said = f"key {longest.fingerprint} in {places} " + (
        f"{'expired' if expired else 'expires'} {when}" if good else f"is {when}"
    )
    return [
        entry.problem(
            "SOURCE.KEY_EXPIRED" if expired else "SOURCE.KEY_EXPIRING",
            "warning",
            said,
            _renew(entry, wanted),
            {
                "entry": entry.where(),
                "keyring": places,
                "fingerprint": longest.fingerprint,
                "expires": iso(until) if good else None,
                "revoked": not good,
                "keyring_wanted": wanted.keyring if wanted else "",
            },
        )
    ]


def _names(key: Key) -> set[str]:
    """Return the fingerprints and key IDs under which a key may sign an archive."""
    prints = [key.fingerprint, *(subkey.fingerprint for subkey in key.subkeys)]
    return {name for full in prints for name in (full, full[-16:] if len(full) == 40 else full[:16])}


def _longest(names: Iterable[str]) -> list[str]:
    """Return fingerprints, and key IDs only of those without one."""
    full = sorted(name for name in names if len(name) > 16)
    return full or sorted(names)


def _renew(entry: Entry, wanted: Wanted | None) -> str:
    if wanted:
        return "`--tags rocm_keyring` fetches the vendor's key again"
    return f"fetch the key of {entry.uri} again from whoever runs the archive, and compare its fingerprint"


def _absent(entry: Entry, keys: Sequence[Key], places: str, missing: Sequence[str], wanted: Wanted | None) -> Problem:
    there = [key.fingerprint for key in keys]
    code = "SOURCE.KEY_WRONG" if there else "SOURCE.KEY_MISSING"
    needed = f"the archive's key is {', '.join(missing)}" if missing else "the archive needs a key"
    evidence = f"{needed}, {places} " + (f"has {', '.join(there)}" if there else "does not have it")
    detail = {
        "entry": entry.where(),
        "keyring": places,
        "missing": list(missing),
        "there": there,
        "keyring_wanted": wanted.keyring if wanted else "",
    }
    return entry.problem(code, "warning", evidence, _renew(entry, wanted), detail)


def _unreadable(entry: Entry, store: Store, wanted: Wanted | None) -> Problem:
    evidence = f"apt cannot use {store.name}, which {entry.place} names in Signed-By: {store.problem}"
    detail = {"entry": entry.where(), "keyring": store.name, "keyring_wanted": wanted.keyring if wanted else ""}
    # A keyring that can be read, and not by apt, has the right key in the wrong form.
    code = "SOURCE.KEYRING_UNUSABLE" if store.keys or store.form else "SOURCE.KEY_MISSING"
    return entry.problem(code, "warning", evidence, _renew(entry, wanted), detail)


def _unverified(entry: Entry) -> Problem:
    evidence = f"{entry.place} says trusted=yes: apt installs from it whatever anybody sends"
    remedy = f"take trusted out of {entry.place}, and name the archive's keyring with Signed-By"
    return entry.problem("SOURCE.UNVERIFIED", "warning", evidence, remedy, {"entry": entry.where()})


def stale(found: Iterable[Archive], stores: Mapping[str, Store], question: Question) -> list[Problem]:
    """Return the keys in shared stores of which a keyring of its own has a copy that lasts longer."""
    fresh: dict[str, list[tuple[Store, Key]]] = {}
    for store in stores.values():
        if not store.shared and not store.problem:
            for key in store.keys:
                fresh.setdefault(key.fingerprint, []).append((store, key))
    bare = [archive for archive in found if not archive.entry.signed_by]
    problems = []
    for store in stores.values():
        for key in store.keys if store.shared else ():
            later = [(other, copy) for other, copy in fresh.get(key.fingerprint, ()) if _later(copy, key)]
            if later:
                problems.append(_stale(store, key, later, _users(key, bare, question), question))
    return problems


def _later(copy: Key, key: Key) -> bool:
    """Say whether a copy lasts longer than another: never comes after every moment."""
    return earliest([copy.signs_until, key.signs_until]) == key.signs_until != copy.signs_until


def _users(key: Key, bare: Iterable[Archive], question: Question) -> list[Entry]:
    """Return the sources without Signed-By that are known to be signed with a key."""
    users = []
    for archive in bare:
        wanted = question.wanted(archive.entry)
        if archive.issuers & _names(key) or (wanted and key.fingerprint in wanted.fingerprints):
            users.append(archive.entry)
    return users


def _stale(
    store: Store, key: Key, later: Sequence[tuple[Store, Key]], users: Sequence[Entry], question: Question
) -> Problem:
    end = key.signs_until or 0
    other, copy = later[0]
    evidence = (
        f"{store.name} has key {key.fingerprint} as it {'expired' if end <= question.now else 'expires'} {iso(end)}; "
        f"{other.name} has it until {iso(copy.signs_until) or 'for ever'}"
    )
    if users:
        evidence += f"; {', '.join(entry.place for entry in users)} names no Signed-By, so apt takes the old copy"
    remedy = f"take this key alone out of {store.name}, once every source that needs it names {other.name} in Signed-By"
    return Problem(
        "KEY.STALE_COPY",
        "warning",
        key.fingerprint,
        evidence,
        remedy,
        store.name,
        detail={
            "fingerprint": key.fingerprint,
            "alone": len(store.keys) == 1,
            "expires": iso(key.signs_until),
            "fresh": [{"keyring": one.name, "expires": iso(newer.signs_until)} for one, newer in later],
            "users": [entry.where() for entry in users],
        },
    )


def left_over(stores: Mapping[str, Store], question: Question) -> list[Problem]:
    """Return the shared stores that apt cannot read, and those in which every key has expired."""
    problems = []
    for store in (store for store in stores.values() if store.shared):
        ends = [key.signs_until for key in store.keys]
        if store.problem:
            evidence = f"apt cannot use it: {store.problem}"
        elif ends and all(end is not None and end <= question.now for end in ends):
            evidence = f"all of its keys have expired: {', '.join(key.fingerprint for key in store.keys)}"
        else:
            continue
        detail = {"fingerprints": [key.fingerprint for key in store.keys]}
        problems.append(Problem("KEY.LEFT_OVER", "info", store.name, evidence, file=store.name, detail=detail))
    return problems
