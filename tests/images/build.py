#!/usr/bin/env python3
"""Builds the images of the test hosts: a freshly installed server of each release, as a container image.

``build.py [NAME ...]`` prints a line ``HALO_TEST_IMAGE_<NAME>=<image>`` for each host, all of them by default, and
builds what is not there yet. Where such a variable of the environment names an image, that is used, pulled if need be,
with what a server has and images lack (SSH, Python) added. The tag is the hash of all that goes into an image, so that
every checkout with the same recipe and mirror shares it. Needs podman, mmdebstrap and root, or sudo without a password;
Python's standard library only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

#: What every image that is built here is called; one that is called so needs nothing more.
OURS = "localhost/halo-test/"

#: What a fresh server has besides the required packages. Without python3-apt: the project brings it.
SERVER = ("ca-certificates", "openssh-server", "procps", "python3", "sudo")

#: The settings of the machine's apt that say how an archive is reached and how far its dates are trusted.
APT_SETTINGS = re.compile(r'^(Acquire::(?:https?::Proxy\S*|Check-Valid-Until|Check-Date)) "(.+)";$', re.MULTILINE)

#: Nobody reads manuals on a test host, and no test host must survive a power cut: both halve what dpkg does.
DPKG_OPTIONS = (
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "force-unsafe-io",
)


class BuildError(Exception):
    """An image cannot be had; the message ends with what to do."""


@dataclass(frozen=True)
class Recipe:
    """What one kind of test host is made of.

    Attributes:
        suite: The suite to install; its ``-updates`` and ``-security`` belong to it.
        hooks: Shell commands on the finished tree ``$1``, as mmdebstrap's customize hooks.
        components: The components that a fresh installation enables.
        packages: What there is besides the required packages.
    """

    suite: str
    hooks: tuple[str, ...] = ()
    components: str = "main non-free-firmware"
    packages: tuple[str, ...] = SERVER


RECIPES = {
    "debian-12": Recipe("bookworm"),
    # The two forms of apt's sources that hosts have: one line each, and deb822.
    "debian-13": Recipe("trixie", hooks=('chroot "$1" apt modernize-sources -y', 'rm -f "$1"/etc/apt/*.bak')),
    # No test host: where tests/archive is served.
    "archive": Recipe("bookworm", components="main", packages=("nginx-light", "python3")),
}

#: Look-alikes of Ubuntu: the userland of another image, and what lies in the directory of their name. Their sources
#: name Ubuntu's archive; what answers at that name is the test archive.
LOOK_ALIKES = {"ubuntu-22.04": "debian-12", "ubuntu-24.04": "debian-13"}
HOSTS = ("debian-12", "debian-13", *LOOK_ALIKES)


@dataclass(frozen=True)
class Archive:
    """Where the machine's own apt finds Debian; both empty where it does not know, which leaves it to mmdebstrap."""

    main: str = ""
    security: str = ""

    def sources(self, recipe: Recipe) -> list[str]:
        """Return the one-line sources of a recipe."""
        archives = {"": self.main, "-updates": self.main, "-security": self.security}
        return [f"deb {uri} {recipe.suite}{pocket} {recipe.components}" for pocket, uri in archives.items() if uri]


def output(*command: str) -> str:
    """Return what a command prints, or nothing where it fails or does not exist."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine_archive() -> Archive:
    """Return the mirror that the machine's apt uses for Debian, told by the labels of the Release files."""
    form = "$(ORIGIN)\t$(LABEL)\t$(REPO_URI)"
    found: dict[str, str] = {}
    for line in output("apt-get", "indextargets", "--format", form, "Created-By: Packages").splitlines():
        origin, label, uri = line.split("\t")
        if origin == "Debian" and uri.startswith(("http://", "https://")):
            found.setdefault(label, uri.rstrip("/"))
    return Archive(found["Debian"], found.get("Debian-Security", "")) if "Debian" in found else Archive()


def mmdebstrap_arguments(recipe: Recipe, archive: Archive, apt_config: str) -> list[str]:
    """Return mmdebstrap's arguments: everything that makes the image what it is. The tree goes to standard output.

    Args:
        recipe: What to install.
        archive: From where.
        apt_config: What ``apt-config dump`` says on this machine.
    """
    arguments = ["--variant=minbase", f"--components={recipe.components}", f"--include={','.join(recipe.packages)}"]
    arguments += [f'--aptopt={name} "{value}"' for name, value in APT_SETTINGS.findall(apt_config)]
    arguments += [f"--dpkgopt={option}" for option in DPKG_OPTIONS]
    arguments += [f"--customize-hook={hook}" for hook in recipe.hooks]
    return [*arguments, "--format=tar", recipe.suite, "-", *archive.sources(recipe)]


def variable(name: str) -> str:
    """Return the name of the environment variable that names an image: HALO_TEST_IMAGE_UBUNTU_2204 for ubuntu-22.04."""
    return "HALO_TEST_IMAGE_" + re.sub(r"\W", "_", name.replace(".", "")).upper()


def podman(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run podman and return what it says."""
    return subprocess.run(["podman", *arguments], capture_output=True, text=True, check=False)


def exists(image: str) -> bool:
    """Return whether podman has the image."""
    return podman("image", "exists", image).returncode == 0


def say(message: str) -> None:
    """Report progress."""
    print(message, file=sys.stderr, flush=True)


def bootstrap(name: str, arguments: list[str], tree: Path) -> None:
    """Run mmdebstrap and pass on the steps that it names."""
    keyring = [f"--keyring={KEYRING}"] if KEYRING.exists() else []
    command = [*([] if os.geteuid() == 0 else ["sudo", "-n"]), "mmdebstrap", *keyring, *arguments]
    last: list[str] = []
    with tree.open("wb") as tar, subprocess.Popen(command, stdout=tar, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr or ():
            last = [*last[-14:], line.rstrip()]
            if re.match(r"I: (running apt|downloading|extracting|installing|creating)", line):
                say(f"  {name}: {line[3:].strip().rstrip('.')}")
    if process.returncode:
        raise BuildError(
            f"the image of {name} cannot be built; mmdebstrap's last lines:\n  "
            + "\n  ".join(last)
            + f"\nremedy: see whether `apt-get update` works here, or name an image of your own: {variable(name)}=IMAGE"
        )


@cache
def machine() -> tuple[Archive, str]:
    """Return what the machine's own apt says: where Debian's archive is, and its configuration."""
    return machine_archive(), output("apt-config", "dump")


def tag(name: str, *inputs: object) -> str:
    """Return the name of the image that is made of these inputs."""
    return f"{OURS}{name}:{hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:12]}"


def bootstrapped(name: str) -> str:
    """Return the image of a recipe, built when there is none yet."""
    arguments = mmdebstrap_arguments(RECIPES[name], *machine())
    image = tag(name, arguments)
    if not exists(image):
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="halo-image-") as directory:
            tree = Path(directory, "tree.tar")
            bootstrap(name, arguments, tree)
            done = podman("import", "--quiet", str(tree), image)
        report(name, image, started, done)
    return image


def derived(name: str, base: str, steps: str, tree: Path | None = None) -> str:
    """Return an image that is made of another one, built when there is none yet.

    Args:
        name: What to call it.
        base: The other image.
        steps: The lines of the Containerfile that follow FROM.
        tree: The directory that they copy from.
    """
    files = (
        {str(path.relative_to(tree)): path.read_text() for path in sorted(tree.rglob("*")) if path.is_file()}
        if tree
        else {}
    )
    image = tag(name, podman("image", "inspect", "--format", "{{.Id}}", base).stdout, steps, files)
    if not exists(image):
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="halo-image-") as directory:
            Path(directory, "Containerfile").write_text(f"FROM {base}\n{steps}", encoding="utf-8")
            context = str(tree or directory)
            # Isolated by chroot, since podman's default runtime cannot start a container on every machine.
            options = [
                "--isolation=chroot",
                "--network=host",
                "--no-cache",
                "--quiet",
                f"--file={directory}/Containerfile",
            ]
            done = podman("build", *options, f"--tag={image}", context)
        report(name, image, started, done)
    return image


def report(name: str, image: str, started: float, done: subprocess.CompletedProcess[str]) -> None:
    """Say that an image is there.

    Raises:
        BuildError: podman failed.
    """
    if done.returncode:
        raise BuildError(
            f"podman cannot make {image}: {done.stderr.strip()[-2000:]}\nremedy: see whether `podman info` works"
        )
    say(f"  {name}: built {image} in {time.monotonic() - started:.0f} s")


def given(name: str, image: str) -> str:
    """Return the image that the environment names, with what a server has; pulled when podman does not have it."""
    if image.startswith(OURS):
        if not exists(image):
            raise BuildError(f"podman has no image {image}\nremedy: unset {variable(name)}, and one is built")
        return image
    if not exists(image) and (done := podman("pull", "--quiet", image)).returncode:
        raise BuildError(
            f"podman has no image {image} and cannot pull it: {done.stderr.strip()[-500:]}\n"
            f"remedy: name one that `podman pull` knows, or unset {variable(name)}, and one is built"
        )
    packages = " ".join(SERVER)
    install = f"apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends {packages}"
    return derived(f"given-{name}", image, f"RUN dpkg -s {packages} >/dev/null 2>&1 || {{ {install}; }}\n")


def build(name: str) -> str:
    """Return an image, built when there is none yet; the one of a look-alike needs the one that it is made of.

    Raises:
        BuildError: mmdebstrap or podman failed, or the image that the environment names does not exist.
    """
    if image := os.environ.get(variable(name), ""):
        return given(name, image)
    if name not in LOOK_ALIKES:
        return bootstrapped(name)
    clear = "RUN rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /var/lib/apt/lists/*"
    return derived(name, build(LOOK_ALIKES[name]), f"{clear}\nCOPY . /\n", HERE / name)


def build_all(names: Sequence[str]) -> list[str]:
    """Return images, those that others are made of first, side by side otherwise.

    Raises:
        BuildError: One cannot be had.
    """
    with ThreadPoolExecutor() as pool:
        bases = {LOOK_ALIKES.get(name, name) for name in names if not os.environ.get(variable(name))}
        list(pool.map(build, bases))
        return list(pool.map(build, names))


def main() -> int:
    """Build the wanted images side by side and print their names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    known = (*HOSTS, "archive")
    parser.add_argument("name", nargs="*", help=f"of {', '.join(known)}; default: those of the hosts")
    names = parser.parse_args().name or list(HOSTS)
    if unknown := set(names) - set(known):
        parser.error(f"no image {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    try:
        for name, image in zip(names, build_all(names), strict=True):
            print(f"{variable(name)}={image}")
    except (BuildError, OSError) as error:
        say(f"build.py: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
