"""Archives of stand-ins inside a container with a real apt."""

from __future__ import annotations

import json
from typing import Any

from tests.support.apt_host import AptHost

# Makes a flat archive of empty packages: argv is its name, Origin and codename, the packages as JSON. Flat archives
# without a signature are trusted by their source entry; no path of the planner knows of that.
ARCHIVE = r"""
import email.utils, hashlib, json, pathlib, subprocess, sys, time
name, origin, codename, packages = *sys.argv[1:4], json.loads(sys.argv[4])
base = pathlib.Path("/srv", name)
base.mkdir(parents=True, exist_ok=True)
index = ""
for fields in packages:
    postinst = fields.pop("postinst", None)
    fields = {"Architecture": "all", "Maintainer": "nobody <nobody@example.org>", "Description": "stand-in", **fields}
    tree = pathlib.Path("/srv/tree", name, fields["Package"], fields["Version"])
    (tree / "DEBIAN").mkdir(parents=True, exist_ok=True)
    control = "".join(f"{key}: {value}\n" for key, value in fields.items())
    (tree / "DEBIAN/control").write_text(control)
    if postinst:
        (tree / "DEBIAN/postinst").write_text(postinst)
        (tree / "DEBIAN/postinst").chmod(0o755)
    deb = base / f"{fields['Package']}_{fields['Version']}_all.deb"
    subprocess.run(["dpkg-deb", "--build", "-Znone", tree, deb], check=True, stdout=subprocess.DEVNULL)
    data = deb.read_bytes()
    index += f"{control}Filename: ./{deb.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n\n"
(base / "Packages").write_text(index)
# apt keeps a Release file whose date is not older than that of the one it is offered.
clock = pathlib.Path("/srv/.clock")
now = max(int(time.time()), int(clock.read_text()) + 1 if clock.exists() else 0)
clock.write_text(str(now))
digest = hashlib.sha256(index.encode()).hexdigest()
(base / "Release").write_text(
    f"Origin: {origin}\nSuite: {codename}\nCodename: {codename}\nDate: {email.utils.formatdate(now, usegmt=True)}\n"
    f"SHA256:\n {digest} {len(index)} Packages\n"
)
"""


class Archives:
    """Archives of stand-ins, the only ones that the host's apt knows."""

    def __init__(self, host: AptHost) -> None:
        self.host = host
        host.run("rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /srv/*")

    def add(
        self,
        name: str,
        *packages: dict[str, str],
        origin: str = "Stand-in",
        codename: str = "",
        options: str = "[trusted=yes]",
    ) -> Archives:
        """Make an archive and name it as a source."""
        self.host.python(ARCHIVE, name, origin, codename or name, json.dumps(packages))
        self.host.run(f"echo 'deb {options} file:/srv/{name} ./' >/etc/apt/sources.list.d/{name}.list")
        return self


def package(name: str, version: str = "1", **fields: str) -> dict[str, str]:
    """Return the control fields of a stand-in."""
    return {
        "Package": f"{name}-stand-in",
        "Version": version,
        **{key.replace("_", "-"): v for key, v in fields.items()},
    }


def wish(name: str, version: str | None = None, **fields: str) -> dict[str, Any]:
    """Return the wish for a stand-in."""
    return {"name": f"{name}-stand-in", **({"version": version} if version else {}), **fields}
