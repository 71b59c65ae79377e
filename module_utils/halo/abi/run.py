"""One check from plain parameters to a plain answer, for the module and for the command."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .check import Check
from .judge import Judge
from .loader import Loader
from .model import Result
from .paths import Root
from .tables import ElfError


class RequestError(Exception):
    """The request cannot be carried out: a path or interpreter is not there, or not what it should be."""


@dataclass(frozen=True)
class Request:
    """What is to be checked.

    Attributes:
        paths: Files and directories, of the host or, below ``root``, of this machine.
        root: The host's root directory.
        interpreter: The Python that imports extension modules, a path of the host; each environment's own by default.
        environment: ``LD_LIBRARY_PATH`` and ``LD_PRELOAD`` of what will load the objects.
        symbols: Whether to look at symbols, besides libraries and version nodes.
    """

    paths: Sequence[str]
    root: str = "/"
    interpreter: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    symbols: bool = True


#: What of an environment changes what is loaded.
VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD")


def check(request: Request) -> Result:
    """Check, and judge.

    Raises:
        RequestError: Something that the request names is not there.
    """
    collecting = gc.isenabled()
    # Nothing becomes garbage here that only the collector would find, and its search costs a tenth of the time.
    gc.disable()
    try:
        return _check(request)
    finally:
        if collecting:
            gc.enable()


def _check(request: Request) -> Result:
    root = Root(request.root)
    if unknown := set(request.environment) - set(VARIABLES):
        raise RequestError(f"{', '.join(sorted(unknown))} does not change what is loaded; {' and '.join(VARIABLES)} do")
    loader = Loader(root, request.environment.get("LD_LIBRARY_PATH", ""), request.environment.get("LD_PRELOAD", ""))
    try:
        run = Check(loader, root.inside(request.interpreter) if request.interpreter else "", request.symbols)
    except (ElfError, OSError) as error:
        raise RequestError(f"{request.interpreter} is no program that can be an interpreter: {error}") from None
    try:
        run.run([root.inside(path) for path in request.paths])
    except OSError as error:
        raise RequestError(f"{error.filename}: {error.strerror}") from None
    except ValueError as error:
        raise RequestError(str(error)) from None
    Judge(run).judge()
    run.result.problems = [problem.printable() for problem in run.result.problems]
    return run.result
