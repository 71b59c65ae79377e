"""``python -m tests.archive``: builds and serves the test archive."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from . import nginx, server
from .build import PARTS, Site, build
from .errors import ArchiveError

ROOT = Path(__file__).resolve().parents[2]


def default_cache() -> Path:
    """Return the directory of real packages: the user's, so that every checkout shares what was fetched once."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "halo-provision", "archive")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the command line, parsed."""
    parser = argparse.ArgumentParser(prog="python -m tests.archive", description="Builds and serves the test archive.")
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--out", type=Path, default=ROOT / ".halo" / "archive", help="default: %(default)s")

    builder = commands.add_parser("build", parents=[common], help="build what is not built yet")
    builder.add_argument("part", nargs="*", help=f"default: all of {', '.join(PARTS)}")
    builder.add_argument("--cache", type=Path, default=default_cache(), help="real packages; default: %(default)s")
    builder.add_argument("--no-refresh", action="store_true", help="take Debian's lists as they are, if there are any")

    serving = commands.add_parser("serve", parents=[common], help="serve by nginx in a container, and print the URL")
    serving.add_argument("--network", default="podman", help="the test hosts' podman network; default: %(default)s")
    serving.add_argument("--name", default=nginx.CONTAINER, help="what to call the container; default: %(default)s")
    serving.add_argument("--ip", default="", help="its address in the network; default: any")
    serving.add_argument("--label", default="", help="what to label it with, as name=value")
    serving.add_argument("--loopback", action="store_true", help="by Python on 127.0.0.1, in the foreground, instead")
    serving.add_argument("--port", type=int, default=0, help="with --loopback; default: a free one")

    stopping = commands.add_parser("stop", help="remove nginx's container")
    stopping.add_argument("--name", default=nginx.CONTAINER, help="default: %(default)s")
    chosen = parser.parse_args(arguments)
    unknown = set(getattr(chosen, "part", [])) - set(PARTS)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    return chosen


def main() -> int:
    """Do what the command line says."""
    chosen = parse()
    try:
        if chosen.command == "build":
            site = Site(chosen.out.resolve(), chosen.cache.resolve())
            manifest = build(site, chosen.part or PARTS, refresh=not chosen.no_refresh)
            print(json.dumps(manifest["built"]))
        elif chosen.command == "stop":
            nginx.stop(chosen.name)
        elif not (chosen.out / "archive.json").exists():
            remedy = f"python -m tests.archive build --out {chosen.out}"
            raise ArchiveError(f"{chosen.out} holds no archive\nremedy: {remedy}")
        elif chosen.loopback:
            with server.server(chosen.out.resolve(), port=chosen.port) as httpd:
                print(f"http://127.0.0.1:{httpd.server_port}", flush=True)
                httpd.serve_forever()
        else:
            print(nginx.start(chosen.out.resolve(), chosen.network, chosen.name, ip=chosen.ip, label=chosen.label))
    except ArchiveError as error:
        print(f"tests.archive: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
