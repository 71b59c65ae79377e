"""Writes nginx's configuration, and runs nginx in a container of its own."""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.images import build as images

from .errors import ArchiveError, run
from .server import LOGIN_PAGE, RULES, SLOW_RATE, Rule

CONTAINER = "halo-archive"
STARTS_WITHIN_S = 60
_CUT_PORT = 8080

#: In the container: what was built, the configuration, and the stand-in for connections that are cut.
_ROOT = "/srv/archive"

#: The label that tells whether a container is as wanted.
_MADE_OF = "halo-archive"


def configuration() -> str:
    """Return nginx's configuration: the sound archive, and below ``/broken/`` the rules and files of each variant."""
    locations = "\n".join(_location(rule) for rule in RULES)
    # As root, since what was built may lie in a directory of the builder's alone.
    return f"""\
user root;
worker_processes 1;
error_log stderr warn;
events {{ worker_connections 256; }}
http {{
  access_log off;
  sendfile on;
  default_type application/octet-stream;
  server {{
    listen 80;
    root {_ROOT}/www;
    autoindex on;
{locations}
    location ~ ^/broken/(?<variant>[a-z0-9-]+)(?<rest>/.*)$ {{
      root {_ROOT};
      try_files /broken/$variant$rest /www$rest =404;
    }}
  }}
}}
"""


def _location(rule: Rule) -> str:
    pattern = f'"^/broken/{rule.variant}(?<rest>{rule.path})$"'
    body = {
        "missing": "return 404;",
        "page": f'default_type text/html; return 200 "{LOGIN_PAGE.strip()}";',
        "slow": f"root {_ROOT}; limit_rate {SLOW_RATE}; try_files /www$rest =404;",
        "cut": f"proxy_pass http://127.0.0.1:{_CUT_PORT}; proxy_buffering off;",
    }[rule.action]
    return f"    location ~ {pattern} {{ {body} }}"


def podman(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    """Run podman, which must be root's as the test hosts are; ``./halo`` puts one on PATH that goes through sudo."""
    if check:
        return run(["podman", *arguments])
    return subprocess.run(["podman", *arguments], capture_output=True, check=False)


def image() -> str:
    """Return the image with nginx, built when there is none yet.

    Raises:
        ArchiveError: It cannot be built.
    """
    try:
        return images.build("archive")
    except images.BuildError as error:
        raise ArchiveError(str(error)) from error


def start(out: Path, network: str, name: str = CONTAINER, *, ip: str = "", label: str = "") -> str:
    """Start the container unless it runs already as wanted, and return its URL.

    Args:
        out: What ``build --out`` was given.
        network: The podman network that the test hosts are in.
        name: What to call the container.
        ip: The address to take in the network; empty: any.
        label: What to label it with, as ``name=value``; empty: nothing.

    Raises:
        ArchiveError: The image cannot be built, or the container does not start.
    """
    (out / "nginx.conf").write_text(configuration(), encoding="utf-8")
    program = Path(__file__).with_name("server.py").resolve()
    mounts = [f"--volume={out.resolve()}:{_ROOT}:ro", f"--volume={program}:/srv/server.py:ro"]
    helper = f"python3 /srv/server.py {_ROOT} --port {_CUT_PORT} >/dev/null"
    script = f"{helper} & exec nginx -c {_ROOT}/nginx.conf -g 'daemon off;'"
    options = [f"--network={network}", *([f"--ip={ip}"] if ip else []), *([f"--label={label}"] if label else [])]
    command = ["--detach", "--init", f"--name={name}", *options, *mounts, image(), "sh", "-c", script]
    made_of = hashlib.sha256("\0".join([*map(str, command), configuration(), program.read_text()]).encode()).hexdigest()
    if _labels(name).get(_MADE_OF) != made_of:
        stop(name)
        podman("run", f"--label={_MADE_OF}={made_of}", *command)
    state = json.loads(podman("inspect", name).stdout)[0]
    if not state["State"]["Running"]:
        raise ArchiveError(f"nginx ended at once: {podman('logs', name).stderr.decode()[-1000:]}")
    addresses = [network["IPAddress"] for network in state["NetworkSettings"]["Networks"].values()]
    url = f"http://{addresses[0]}"
    _wait(url, name)
    return url


def _labels(name: str) -> dict[str, str]:
    """Return the labels of a container that runs; nothing where none does."""
    said = podman("ps", f"--filter=name=^{name}$", "--format=json", check=False).stdout
    return next((container["Labels"] or {} for container in json.loads(said or b"[]")), {})


def _wait(url: str, name: str) -> None:
    """Wait for nginx and for what it asks about connections that are cut: 502 until that listens."""
    deadline = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            urllib.request.urlopen(f"{url}/broken/cut/", timeout=5)  # noqa: S310  # a container's http
            return
        except urllib.error.HTTPError as error:
            if error.code != 502:
                return
            last: OSError = error
        except OSError as error:
            last = error
        if time.monotonic() > deadline:
            logs = podman("logs", name, check=False).stderr.decode()[-500:]
            raise ArchiveError(f"{url} does not answer within {STARTS_WITHIN_S} s: {last}\n{logs}")
        time.sleep(0.2)


def stop(name: str = CONTAINER) -> None:
    """Remove the container, when there is one."""
    podman("rm", "--force", "--time=2", name, check=False)
