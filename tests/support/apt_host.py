"""A container with a real apt, in which the planner runs as on a host: in one process of the system's Python."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.images import build as images

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ("debian-12", "debian-13")

# What the modules of apt do between Ansible's parameters and their answer: the first word says which of them, a second
# one has them do without python3-apt.
_DRIVER = """
import importlib, json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "/halo")
module, *without = sys.argv[1:] or ["plan"]
if without:
    sys.modules["apt_pkg"] = None
package = "apt" if module in ("plan", "bootstrap") else module
glue = importlib.import_module(f"halo.{package}.glue")
request = json.load(sys.stdin)
params = {name: spec.get("default") for name, spec in getattr(glue, f"{module.upper()}_ARGUMENTS").items()}
arguments = [{**params, **request["params"]}] + ([request["check_mode"]] if "check_mode" in request else [])
print(json.dumps(getattr(glue, module)(*arguments)))
"""


class AptHost:
    """A container that is started with python3-apt in it, and removed when the block ends.

    Attributes:
        release: The name of its image's recipe.
        name: The container.
    """

    def __init__(self, release: str, purpose: str) -> None:
        self.release = release
        self.name = f"{os.environ.get('HALO_TEST_NAME', 'halo')}-{purpose}-{release}-{os.getpid()}"

    def __enter__(self) -> AptHost:
        label = f"halo-test={os.environ.get('HALO_TEST_NAME', 'halo')}"
        options = ["--detach", "--name", self.name, "--label", label, "--tmpfs=/small:size=1m"]
        command = ["podman", "run", *options, images.build(self.release), "sleep", "infinity"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        try:
            self.run("mkdir -p /halo; cat >/halo/drive.py", stdin=_DRIVER)
            subprocess.run(["podman", "cp", f"{ROOT}/module_utils/halo", f"{self.name}:/halo/halo"], check=True)
            self.run("apt-get update -qq && apt-get install -qq --no-install-recommends python3-apt")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["podman", "rm", "--force", "--time=0", self.name], check=False, stdout=subprocess.DEVNULL)

    def command(self, *words: str) -> list[str]:
        """Return the command line that runs a command in the container."""
        environment = ("--env=DEBIAN_FRONTEND=noninteractive", "--env=LC_ALL=C.UTF-8")
        return ["podman", "exec", "--interactive", *environment, self.name, *words]

    def run(self, script: str, stdin: str = "", check: bool = True) -> str:
        """Run a shell script, and return what it prints."""
        command = self.command("sh", "-ec", script)
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def python(self, script: str, *arguments: str) -> str:
        """Run a Python script, and return what it prints."""
        command = self.command("python3", "-", *arguments)
        done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    @staticmethod
    def request(wishes: list[dict[str, Any]], check_mode: bool = False, **params: Any) -> str:
        """Return what the driver reads for a plan."""
        wished = [{"role": "demo", "state": "present", **wish} for wish in wishes]
        return json.dumps({"params": {"wishes": wished, **params}, "check_mode": check_mode})

    def plan(self, *wishes: dict[str, Any], check_mode: bool = False, **params: Any) -> Answer:
        """Plan, or with ``execute=True`` execute, and return the module's answer."""
        return self._drive("plan", self.request(list(wishes), check_mode, **params))

    def audit(self, python_apt: bool = True, **params: Any) -> Answer:
        """Audit, and return the module's answer."""
        return self._drive("audit", json.dumps({"params": params}), python_apt)

    def repair(self, check_mode: bool = False, python_apt: bool = True, **params: Any) -> Answer:
        """Repair, and return the module's answer."""
        return self._drive("repair", json.dumps({"params": params, "check_mode": check_mode}), python_apt)

    def bootstrap(self, **params: Any) -> Answer:
        """Install python3-apt where it is missing, and return the module's answer."""
        return self._drive("bootstrap", json.dumps({"params": params, "check_mode": False}))

    def _drive(self, module: str, request: str, python_apt: bool = True) -> Answer:
        command = self.command("python3", "/halo/drive.py", module, *([] if python_apt else ["without"]))
        done = subprocess.run(command, input=request, capture_output=True, text=True, check=False)
        # Whatever goes wrong is a finding; and nothing but the answer may reach the output that Ansible reads.
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return Answer(json.loads(done.stdout))

    def installed(self) -> dict[str, str]:
        """Return name -> version of what is installed."""
        lines = self.run("dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\\n'").splitlines()
        return {name: version for state, name, version in map(str.split, lines) if state == "installed"}

    def auto(self) -> set[str]:
        """Return what is marked as installed automatically."""
        return set(self.run("apt-mark showauto").split())


class Answer(dict[str, Any]):
    """The module's answer, with shortcuts."""

    @property
    def codes(self) -> list[str]:
        """The codes of the findings."""
        return [finding["code"] for finding in self["findings"]]

    def changes(self) -> dict[str, dict[str, Any]]:
        """Return name -> change."""
        return {change["name"]: change for change in self["plan"]["changes"]}

    def kinds(self) -> dict[str, str]:
        """Return name -> kind of change."""
        return {name: change["kind"] for name, change in self.changes().items()}
