"""What the scenarios of refusals share: runs that must fail with a finding, on hosts that must stay as they are."""

from __future__ import annotations

from typing import Any

from tests.support.playbook import Run, run

# /tmp is Ansible's own working place, /root/.ansible its cache; logs of logins are not ours either.
_APART = ("/proc", "/sys", "/run", "/tmp", "/root/.ansible", "/root/.cache", "/var/log")  # noqa: S108
_SNAPSHOT = (
    f"find / -xdev \\( {' -o '.join(f'-path {path}' for path in _APART)} \\) "
    "-prune -o -type f -printf '%p %s %T@ %m\\n' | sort"
)


def snapshot(host: Any) -> str:
    """Return every file of a host with size, time and mode."""
    return str(host.check_output(_SNAPSHOT))


def refused(host: str, *args: str, playbook: str = "site.yml") -> Run:
    """Run a playbook that must fail on a host of the inventory."""
    result = run(playbook, f"--limit={host}", *args)
    assert result.rc != 0, result.output[-3000:]
    return result


def error(result: Run, host: str, code: str) -> dict[str, str]:
    """Return the error with this code; there must be one, with a remedy."""
    found = [f for f in result.findings(host) if f["code"] == code and f["severity"] == "error"]
    assert found, f"no {code} in {result.codes(host)}\n{result.output[-3000:]}"
    assert found[0]["remedy"]
    return found[0]
