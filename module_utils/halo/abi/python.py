"""Which Python imports an extension module: its scope is that interpreter's, with every symbol bound at once."""

from __future__ import annotations

import posixpath
import re

from .paths import Root

_SITE = re.compile(r"^(?P<prefix>.*)/lib/python(?P<version>3(?:\.\d+)?)/(?:(?:site|dist)-packages|lib-dynload)(?:/|$)")
_TAG = re.compile(r"\.cpython-3(\d+)\w*-[\w-]+\.so$")
#: Packages of the same environment whose libraries Python code loads before those that need them.
_PRELOADED = ("_rocm_sdk_core/lib", "_rocm_sdk_libraries", "_rocm_sdk_devel/lib", "torch/lib")


def site(path: str) -> str:
    """Return the directory of packages that a path lies in, empty where it lies in none."""
    found = re.match(r"^.*/(?:site|dist)-packages(?=/)", path)
    return found[0] if found else ""


def version(path: str) -> str:
    """Return the version that an extension module's name says it is for, such as ``3.12``; empty for any."""
    found = _TAG.search(path)
    return f"3.{found[1]}" if found else ""


def imported(path: str) -> bool:
    """Whether something is loaded by Python alone: it lies among an environment's packages or has Python's suffix."""
    return bool(_SITE.match(path) or site(path) or _TAG.search(path) or path.endswith(".abi3.so"))


def interpreter(root: Root, path: str) -> str:
    """Return the interpreter for what Python imports, empty where the host has none of the right version.

    Args:
        root: The host.
        path: A file, as ``/opt/venv/lib/python3.12/site-packages/x/_x.cpython-312-x86_64-linux-gnu.so``.
    """
    where, wanted = _SITE.match(path), version(path)
    prefixes = [where["prefix"]] if where else []
    found = where["version"] if where else ""
    names = [f"python{wanted or found}"] if wanted or found else ["python3"]
    if not wanted and found == "3":
        names = ["python3"]
    for prefix in dict.fromkeys([*prefixes, "/usr", "/usr/local"]):
        for name in names:
            if name in root.names(posixpath.join(prefix, "bin")):
                return posixpath.join(prefix, "bin", name)
    return ""


def shipped(root: Root, name: str, packages: str) -> str:
    """Return where a package that Python code preloads has a library, empty where none has."""
    for directory in root.names(packages):
        for preloaded in _PRELOADED:
            top, _, below = preloaded.partition("/")
            if directory.startswith(top):
                path = posixpath.join(packages, directory, below or "lib")
                if name in root.names(path):
                    return f"{path}/{name}"
    return ""
