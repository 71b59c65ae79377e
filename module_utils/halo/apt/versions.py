"""Debian versions: their order, and the bounds that a wish sets them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import zip_longest

_CHUNK = re.compile(r"([^0-9]*)([0-9]*)")
_RELATION = re.compile(r"(<<|<=|=|>=|>>)\s*(\S+)")
_VERSION = re.compile(r"([0-9]+:)?[0-9A-Za-z][0-9A-Za-z.+~:-]*")
_PREFIX = re.compile(r"([0-9]+:)?[0-9A-Za-z.+~:-]*\*")


def compare(first: str, second: str) -> int:
    """Return a number below, at or above 0, as ``first`` is older than, the same as or newer than ``second``.

    The rules are those of deb-version(7). ``apt_pkg.version_compare`` would do, but bounds are checked on the
    controller too, which has no python3-apt.
    """
    for mine, other in zip(_split(first), _split(second)):
        if mine != other:
            order = _compare_part(mine, other)
            if order:
                return order
    return 0


def newest(versions: Iterable[str]) -> str:
    """Return the newest of some versions.

    Raises:
        ValueError: There is none.
    """
    return max(versions, key=cmp_to_key(compare))


def _split(version: str) -> tuple[str, str, str]:
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "0")
    return epoch, upstream, revision


def _compare_part(first: str, second: str) -> int:
    chunks = zip_longest(_CHUNK.findall(first), _CHUNK.findall(second), fillvalue=("", ""))
    for (text, digits), (other_text, other_digits) in chunks:
        mine = (_weights(text), int(digits or 0))
        other = (_weights(other_text), int(other_digits or 0))
        if mine != other:
            return -1 if mine < other else 1
    return 0


def _weights(text: str) -> tuple[int, ...]:
    # The end of a part sorts after ~ and before everything else, letters before the other characters.
    weights = (-1 if char == "~" else ord(char) if char.isalpha() else ord(char) + 256 for char in text)
    return (*weights, 0)


@dataclass(frozen=True)
class Bound:
    """What a wish allows a version to be.

    Attributes:
        text: As it was written: ``1:17.*`` (a prefix), ``>= 5.7, << 6`` (relations, all of which must hold),
            ``5.7.1-6`` (that very version), or empty (any).
    """

    text: str = ""

    def __post_init__(self) -> None:
        self._relations()

    def _relations(self) -> list[tuple[str, str]]:
        relations = []
        for part in filter(None, (part.strip() for part in self.text.split(","))):
            relation = _RELATION.fullmatch(part)
            if relation and _VERSION.fullmatch(relation[2]):
                relations.append((relation[1], relation[2]))
            elif _PREFIX.fullmatch(part):
                relations.append(("*", part[:-1]))
            elif _VERSION.fullmatch(part):
                relations.append(("=", part))
            else:
                raise ValueError(f"{part!r} is neither a prefix like 1:17.* nor a relation like >= 5.7")
        return relations

    def admits(self, version: str) -> bool:
        """Say whether a version is within the bound."""
        return all(_holds(version, relation, limit) for relation, limit in self._relations())

    def excludes(self, other: Bound) -> bool:
        """Say whether it is plain from the two texts that no version can be within both.

        That is so for prefixes and exact versions that contradict. Two ranges may exclude each other without this
        noticing; then no offered version is within both, which is reported all the same.
        """
        for relation, limit in self._relations():
            for other_relation, other_limit in other._relations():
                if relation == other_relation == "*":
                    if not (limit.startswith(other_limit) or other_limit.startswith(limit)):
                        return True
                elif (relation == "=" and not _holds(limit, other_relation, other_limit)) or (
                    other_relation == "=" and not _holds(other_limit, relation, limit)
                ):
                    return True
        return False


def _holds(version: str, relation: str, limit: str) -> bool:
    if relation == "*":
        return version.startswith(limit)
    order = compare(version, limit)
    return {"<<": order < 0, "<=": order <= 0, "=": order == 0, ">=": order >= 0, ">>": order > 0}[relation]
