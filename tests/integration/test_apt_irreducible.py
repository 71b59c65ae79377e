"""Explanations hold, and without any one of their requirements there is a way: random worlds of stand-ins."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from typing import Any

from tests.support import apt_world
from tests.support.apt_host import AptHost

# A soak draws its sets anew; CI asks the same each time, so that what it finds is news of the code.
SEED = int(os.environ.get("HALO_SEED") or (time.time() if os.environ.get("HALO_SOAK") else 1))
COUNT = int(os.environ.get("HALO_COUNT") or (60 if os.environ.get("HALO_SOAK") else 4))

#: What an explanation is about -> the changes of its subject that it explains.
CHANGES = {
    "APT.UNSOLVABLE": (),
    "remove": ("remove",),
    "downgrade": ("remove", "downgrade"),
    "upgrade": ("remove", "upgrade"),
    "change_held": ("remove", "downgrade", "upgrade"),
}


def wishes(world: apt_world.World, generator: random.Random) -> list[dict[str, Any]]:
    """Return wishes for random versions, and sometimes for the absence of what is installed."""
    stands = {stand.name: stand for stand in generator.sample(world.stands, generator.randint(1, 3))}
    wished = [
        {"name": name, **({"version": stand.version} if generator.random() < 0.6 else {})}
        for name, stand in stands.items()
    ]
    others = sorted(world.installed.keys() - stands.keys())
    if others and generator.random() < 0.3:
        wished.append({"name": generator.choice(others), "state": "absent"})
    return wished


def check(host: AptHost, world: apt_world.World, wished: list[dict[str, Any]], explanation: dict[str, Any]) -> int:
    """Check one explanation, and return how many requirements were dropped in turn."""
    steps, about, subject = explanation["steps"], explanation["about"], explanation["subject"]
    shown = "\n".join(step["text"] for step in steps)
    assert next(apt_world.solutions(world, steps), None) is None, f"these do not exclude each other:\n{shown}"

    def stands_in_the_way(
        kept: list[dict[str, Any]], pins: dict[str, tuple[str, int]], further: Sequence[dict[str, Any]] = ()
    ) -> bool:
        smaller = apt_world.reduced(world, kept)
        smaller.pins.update(pins)
        named = {step["package"] for step in kept if step["kind"] in ("wish", "absent")}
        answer = smaller.plan(host, [*(wish for wish in wished if wish["name"] in named), *further])
        if "APT.UNSOLVABLE" in answer.codes:
            return True
        assert answer["plan"]["text"], answer["msg"]
        # What else changes does not matter; what is explained must not be among the changes any more.
        return answer.kinds().get(subject) in CHANGES[about]

    assert stands_in_the_way(steps, {}), f"with these alone there is a way:\n{shown}"
    for dropped in steps:
        kept = [step for step in steps if step is not dropped]
        found = next(apt_world.solutions(world, kept), None)
        assert found is not None, f"superfluous: {dropped['text']}\nin:\n{shown}"
        if dropped["kind"] in ("stay", "hold"):
            continue  # without what is to stay it may change, which is what the plan does
        pins = {name: (version, 1001) for name, version in found.items()}
        # apt's classic solver does not find everything, but sees a way when it is led there.
        names = {step["package"] for step in steps} | {name for step in steps for name, _ in step["versions"]}
        led = [
            {"name": name, **({"version": found[name]} if name in found else {"state": "absent"})}
            for name in sorted(names - {wish["name"] for wish in wished})
        ]
        assert not stands_in_the_way(kept, pins) or not stands_in_the_way(kept, pins, led), (
            f"apt needs no {dropped['text']}\nin:\n{shown}\nwith {found}"
        )
    return len(steps)


def test_no_requirement_of_an_explanation_can_be_left_out(apt_host: AptHost) -> None:
    print(f"HALO_SEED={SEED} HALO_COUNT={COUNT}")
    generator = random.Random(SEED)  # noqa: S311
    explained: dict[str, int] = {}
    unknown = 0
    for number in range(COUNT * 20):
        if sum(explained.values()) >= COUNT:
            break
        world = apt_world.make(generator)
        wished = wishes(world, generator)
        answer = world.plan(apt_host, wished)
        unknown += "APT.UNSOLVABLE" in answer.codes and not answer["explanation"][0]["steps"]
        told = [item for item in answer["explanation"] if item["steps"]]
        # The kind that was met least often, so that none is left out.
        for explanation in sorted(told, key=lambda item: explained.get(item["about"], 0))[:1]:
            if explained.get(explanation["about"], 0) > sum(explained.values()) // 2:
                continue
            try:
                check(apt_host, world, wished, explanation)
            except AssertionError as error:
                raise AssertionError(f"seed {SEED}, world {number}, wishes {wished}: {error}\n{world}") from error
            explained[explanation["about"]] = explained.get(explanation["about"], 0) + 1
    print(explained, f"{unknown} that apt's solver gives up without a reason")
    assert sum(explained.values()) >= COUNT
