"""The solver behind explanations, against trying everything."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import pytest
from ansible.module_utils.halo.apt import clauses
from ansible.module_utils.halo.apt.clauses import Ban, ExhaustedError, Need, Search, irreducible


class Table:
    """Rules as they are written down: version 12 is version 2 of package 1."""

    def __init__(self, generator: random.Random) -> None:
        self.numbers = itertools.count()
        self.versions = [10 * package + version for package in range(5) for version in (1, 2)]
        self._excluded = {v: [next(self.numbers)] if generator.random() < 0.15 else [] for v in self.versions}
        self._needs = {v: [self.need(generator) for _ in range(generator.choice([0, 1, 1, 2]))] for v in self.versions}
        self._bans = {
            v: [
                Ban(next(self.numbers), other) for other in generator.sample(self.versions, 1) if other // 10 != v // 10
            ]
            for v in self.versions
        }

    def need(self, generator: random.Random) -> Need:
        return Need(next(self.numbers), tuple(generator.sample(self.versions, generator.choice([0, 1, 1, 2, 3]))))

    def package(self, version: int) -> int:
        return version // 10

    def needs(self, version: int) -> Sequence[Need]:
        return self._needs[version]

    def bans(self, version: int) -> Sequence[Ban]:
        return self._bans[version]

    def excluded(self, version: int) -> Sequence[int]:
        return self._excluded[version]

    def rank(self, version: int) -> int:
        return version % 10

    def solutions(self, demands: Sequence[Need], active: set[int] | None = None) -> Iterator[set[int]]:
        """Yield all there are, found by trying everything."""

        def counts(rule: int) -> bool:
            return active is None or rule in active

        for choice in itertools.product(*([None, 10 * package + 1, 10 * package + 2] for package in range(5))):
            chosen = {version for version in choice if version is not None}
            needs = [*demands, *(need for version in chosen for need in self.needs(version))]
            if (
                all(chosen & set(need.options) for need in needs if counts(need.rule))
                and not any(ban.version in chosen for v in chosen for ban in self.bans(v) if counts(ban.rule))
                and not any(counts(rule) for version in chosen for rule in self.excluded(version))
            ):
                yield chosen


@pytest.mark.parametrize("seed", range(300))
def test_the_search_knows_what_trying_everything_knows(seed: int) -> None:
    generator = random.Random(seed)  # noqa: S311
    table = Table(generator)
    demands = [table.need(generator) for _ in range(generator.randint(1, 3))]
    search = Search(table)
    core = search.core(demands)
    solutions = list(table.solutions(demands))
    if core is None:
        # What nothing demands is left out, so a solution may have less than the search looked at, and never more.
        assert set(search.solution.values()) in solutions
        return
    assert solutions == []
    assert next(table.solutions(demands, set(core)), None) is None
    fewest = irreducible(table, demands, core)
    assert fewest <= core
    assert next(table.solutions(demands, set(fewest)), None) is None
    for rule in fewest:
        assert next(table.solutions(demands, set(fewest) - {rule}), None) is not None


def test_some_random_rules_can_be_fulfilled_and_others_cannot() -> None:
    found = set()
    for seed in range(300):
        generator = random.Random(seed)  # noqa: S311
        table = Table(generator)
        found.add(Search(table).core([table.need(generator) for _ in range(generator.randint(1, 3))]) is None)
    assert found == {True, False}


def test_a_search_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clauses, "STEPS", 3)
    table = Table(random.Random(1))  # noqa: S311
    with pytest.raises(ExhaustedError):
        Search(table).core([Need(next(table.numbers), tuple(table.versions)) for _ in range(5)])
