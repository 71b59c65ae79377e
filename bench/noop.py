"""``provision.yml`` with nothing to do, against a playbook of twenty pings, both over SSH to the same host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.playbook import run

NAME = "noop"
LIMIT = 2.0
RUNS = 5

HOST = "debian-13"
INVENTORY = "inventory/demo.yml"


@contextmanager
def setup() -> Iterator[str]:
    """Make the demo's hosts, unless they are there, and provision one."""
    _succeed("molecule/default/create.yml")
    _succeed("site.yml", f"--limit={HOST}")
    yield f"{HOST} over SSH"


def ours() -> None:
    """Provision what is provisioned."""
    done = _succeed("playbooks/provision.yml", f"--limit={HOST}")
    assert done.changed(HOST) == 0, done.output


def theirs() -> None:
    """Ping."""
    _succeed("bench/pings.yml", f"--limit={HOST}")


def _succeed(playbook: str, *args: str):
    done = run(playbook, *args, inventory=INVENTORY)
    assert done.rc == 0, done.output[-3000:]
    return done
