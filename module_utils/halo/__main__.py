"""The command ``halo``: ``python -m halo``, the same package that the modules use.

Exit status: 0 done, 1 findings or nothing found, 2 the command cannot be understood or run here.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from . import __version__, gpu
from .findings import CATALOGUE, Finding, errors, text
from .stack import label

if TYPE_CHECKING:
    from types import ModuleType

_CHECKOUT = Path(__file__).resolve().parents[2]
_STACKS = _CHECKOUT / "stacks"


class UsageError(Exception):
    """The command cannot be carried out as it was typed, or not on this machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except UsageError as error:
        print(f"halo: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has seen enough, as in `halo finding | head`. Python would flush once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Name the commands of ./halo, too, where it was ./halo that did not know one."""
        own = os.environ.get("HALO_COMMANDS")
        if own and message.startswith("argument COMMAND: invalid choice"):
            message += f"; ./halo itself has {', '.join(own.split())}"
        super().error(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="halo", description="Looks at stacks, findings and this machine.")
    parser.add_argument("--version", action="version", version=f"halo {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    command = commands.add_parser("stacks", help="list the stacks")
    command.set_defaults(run=_stacks)

    command = commands.add_parser("stack", help="check a stack and say what it holds")
    command.add_argument("stack", metavar="NAME|FILE", help="a name from `halo stacks`, or a file")
    command.set_defaults(run=_stack)

    command = commands.add_parser("gpu", help="list the GPUs that the compute driver offers")
    command.add_argument("--root", type=Path, default=Path("/"), help="directory below which sys/ is read")
    command.add_argument("--json", action="store_true", help="print what module gpu_facts returns")
    command.set_defaults(run=_gpu)

    command = commands.add_parser("abi", help="say which ELF objects do not load, and why")
    command.add_argument("paths", nargs="+", metavar="PATH", help="a file or directory")
    command.add_argument("--root", default="/", metavar="DIR", help="root directory of the host that is looked at")
    command.add_argument("--interpreter", default="", metavar="PYTHON", help="what imports extension modules")
    command.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE", help="LD_LIBRARY_PATH or LD_PRELOAD"
    )
    command.add_argument("--no-symbols", action="store_true", help="look at libraries and version nodes only")
    command.add_argument("--json", action="store_true", help="print what module abi_check returns")
    command.set_defaults(run=_abi)

    command = commands.add_parser("finding", help="say what a finding means and what to do")
    command.add_argument("code", nargs="?", metavar="CODE", help="as APT.LOCKED; all of them without one")
    command.set_defaults(run=_finding)
    return parser


def _stacks(_: argparse.Namespace) -> int:
    stacks, findings = _stack_file().load_all(_STACKS)
    for stack in sorted(stacks, key=lambda stack: str(stack["date"]), reverse=True):
        print(f"{stack['name']}  {stack['channel']}  {stack['date']}  {stack['title']}")
        for entry in stack["os"]:
            verified = "" if entry["names_verified"] else "  (not verified)"
            print(f"    {label(entry)}: ROCm {entry['rocm']['release']}{verified}")
    return _say(findings)


def _stack(options: argparse.Namespace) -> int:
    stack_file = _stack_file()
    path = Path(options.stack)
    if "/" not in options.stack and path.suffix != ".yml":
        path = _STACKS / f"{options.stack}.yml"
        known = stack_file.names(_STACKS)
        if options.stack not in known:
            raise UsageError(
                f"there is no stack {options.stack!r}{_like(options.stack, known)}; `halo stacks` lists them"
            )
    stack, findings = stack_file.load(path)
    if stack:
        print(f"{stack['name']}: {stack['title']} ({stack['channel']}, {stack['date']})")
        for entry in stack["os"]:
            rocm = entry["rocm"]
            unverified = [fact["about"] for fact in entry["facts"] if not fact["verified"]]
            compiler = Path(entry["toolchain"]["cxx"]).name
            print(f"  {label(entry)}: ROCm {rocm['release']} from {rocm['origin']}, {compiler}")
            print(f"    compiles for {', '.join(rocm['gfx'])}")
            for name, packages in rocm["components"].items():
                print(f"    {name}: {', '.join(package['name'] for package in packages)}")
            for about in unverified:
                print(f"    not verified: {about}")
    return _say(findings)


def _gpu(options: argparse.Namespace) -> int:
    if not options.root.is_dir():
        raise UsageError(f"{options.root} is no directory")
    gpus, findings = gpu.read(options.root)
    if options.json:
        print(json.dumps({"gpus": [found.as_dict() for found in gpus]}, indent=2))
    else:
        for found in gpus:
            kind = "APU" if found.apu else "discrete"
            name = f"  {found.name}" if found.name else ""
            print(f"{found.gfx}  {kind} ({found.apu_reason})  node {found.node}  renderD{found.render_minor}{name}")
    _say(findings)
    if not gpus:
        print(f"halo: no GPU in {options.root / gpu.TOPOLOGY}: is the amdgpu driver loaded?", file=sys.stderr)
    return 0 if gpus else 1


def _abi(options: argparse.Namespace) -> int:
    # Only here: the other commands need not wait for it.
    from .abi import glue, report, run

    if wrong := [word for word in options.env if "=" not in word]:
        raise UsageError(f"{wrong[0]!r} is no NAME=VALUE")
    if not Path(options.root).is_dir():
        raise UsageError(f"{options.root} is no directory")
    environment = dict(word.split("=", 1) for word in options.env)
    request = run.Request(options.paths, options.root, options.interpreter, environment, not options.no_symbols)
    try:
        result = run.check(request)
    except run.RequestError as error:
        raise UsageError(str(error)) from error
    findings = report.findings(result)
    if options.json:
        answer = glue.answer(result, findings)
        print(json.dumps({name: answer[name] for name in answer if name not in ("failed", "msg")}, indent=2))
    else:
        if findings:
            print(text(findings))
        print(report.summary(result))
    return 1 if errors(findings) else 0


def _finding(options: argparse.Namespace) -> int:
    if options.code is None:
        for code, meaning in CATALOGUE.items():
            print(f"{code}: {meaning}")
        return 0
    code = options.code.upper()
    if code not in CATALOGUE:
        raise UsageError(f"no finding is called {code!r}{_like(code, list(CATALOGUE))}; `halo finding` lists them")
    print(f"{code}: {CATALOGUE[code]}")
    for what, said in _documented(code):
        print(f"{what}: {said}")
    return 0


def _documented(code: str) -> list[tuple[str, str]]:
    """Return what docs/findings.md says beyond the meaning; nothing where the package lies without its checkout."""
    try:
        page = (_CHECKOUT / "docs" / "findings.md").read_text(encoding="utf-8")
    except OSError:
        return []
    row = re.search(rf"^\| `{re.escape(code)}` \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    return [("severity", row[1].strip()), ("what to do", row[2].strip())] if row else []


def _stack_file() -> ModuleType:
    try:
        from . import stack_file
    except ImportError as error:
        raise UsageError(
            f"{error.name} is missing: stacks are read on the controller, run ./halo in a checkout"
        ) from error
    return stack_file


def _say(findings: Sequence[Finding]) -> int:
    if findings:
        print(text(findings), file=sys.stderr)
    return 1 if findings else 0


def _like(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f", did you mean {close[0]!r}" if close else ""


if __name__ == "__main__":
    sys.exit(main())
