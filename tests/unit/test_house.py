"""Rules for the whole checkout, each of which somebody would break one day without noticing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "module_utils" / "halo"
LOGIC = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__main__.py")
ON_HOSTS = [*LOGIC, PACKAGE / "__main__.py", *sorted((ROOT / "library").glob("*.py"))]
#: Read on the controller only, so it may use what hosts need not have.
CONTROLLER = PACKAGE / "stack_file.py"
#: Hosts have the standard library and python3-apt.
FROM_DEBIAN = {"apt", "apt_pkg", "apt_inst"}
VENDORS = "stacks", "docs"


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode == 0 and done.stdout:
        return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]
    skipped = {".venv", ".halo", ".git", "__pycache__", "build"}
    return [path for path in ROOT.rglob("*") if path.is_file() and not skipped & set(path.relative_to(ROOT).parts)]


TRACKED = tracked()
YAML_FILES = [path for path in TRACKED if path.suffix in (".yml", ".yaml")]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(path: Path) -> set[str]:
    """Return the top-level names of a file's absolute imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", LOGIC, ids=relative)
def test_the_logic_knows_no_ansible_and_never_prints(path: Path) -> None:
    assert [name for name in imports(path) if name.split(".")[0] == "ansible"] == []
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert [call.id for call in calls if isinstance(call, ast.Name) and call.id in ("print", "exit", "input")] == []


@pytest.mark.parametrize("path", [path for path in LOGIC if path != CONTROLLER], ids=relative)
def test_the_logic_needs_only_what_hosts_have(path: Path) -> None:
    known = set(sys.stdlib_module_names) | FROM_DEBIAN
    assert sorted({name.split(".")[0] for name in imports(path)} - known) == []


def test_nothing_on_hosts_imports_what_only_the_controller_has() -> None:
    users = [path for path in ON_HOSTS if re.search(r"import .*\bstack_file\b|stack_file import", path.read_text())]
    assert [relative(path) for path in users] == ["module_utils/halo/__main__.py"]
    (line,) = re.findall(r"^.*import stack_file.*$", (PACKAGE / "__main__.py").read_text(), re.MULTILINE)
    assert line.startswith("        "), "the command imports it only when a stack is wanted"


@pytest.mark.parametrize("path", ON_HOSTS, ids=relative)
def test_what_runs_on_hosts_is_python_3_9(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    # Annotations are not evaluated there; unions in other places are.
    assert any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" and node.names[0].name == "annotations"
        for node in tree.body
    ) or not [node for node in tree.body if not isinstance(node, ast.Expr)]


@pytest.mark.parametrize("path", LOGIC, ids=relative)
def test_no_file_of_the_logic_grows_beyond_reading(path: Path) -> None:
    assert path.read_text().count("\n") <= 320


def test_every_package_has_its_init() -> None:
    # Without it ansible-core cannot pack the package, and says so misleadingly.
    for directory in {path.parent for path in LOGIC}:
        assert (directory / "__init__.py").is_file(), directory


class Unique(yaml.SafeLoader):
    """Refuses a key that stands twice, and knows no tags, as those of the files here."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = {key for key in keys if keys.count(key) > 1}
        assert not twice, f"{node.start_mark}: {twice} stands twice"
        return super().construct_mapping(node, deep)


@pytest.mark.parametrize("path", YAML_FILES, ids=relative)
def test_yaml_has_no_key_twice(path: Path) -> None:
    for _ in yaml.load_all(path.read_text(), Loader=Unique):
        pass


#: Hosts that a link in the checkout may name: sources of facts, licences, and names that can be nobody's archive.
HOSTS = re.compile(
    r"(www\.gnu\.org|fsf\.org|github\.com|json-schema\.org|(\w+\.)?llvm\.org|docs\.(ansible|kernel)\.\w+|www\.debian\.org"
    r"|www\.rfc-editor\.org|localhost|127\.0\.0\.1|10\.[\d.]+|([\w-]+\.)*example\.(org|com|net)|([\w-]+\.)*(test|invalid))"
)
URL_HOST = re.compile(rb"\b(?:https?|ftp)://(?:[^\s/@]*@)?([A-Za-z0-9][A-Za-z0-9.-]*)")


def foreign(text: bytes) -> list[str]:
    """Return the hosts of a text's URLs that are none of HOSTS."""
    found = [host.decode().rstrip(".") for host in URL_HOST.findall(text)]
    return [host for host in found if not HOSTS.fullmatch(host)]


def test_no_file_is_tied_to_an_archive_a_mirror_or_a_registry() -> None:
    # Where packages come from is said by the machine's own configuration; vendors' archives are facts of a stack.
    scheme = b"https" + b"://"  # in two pieces, or this file would be found
    assert foreign(b"deb " + scheme + b"archive.other.net/debian x; " + scheme + b"u:p@registry.local:8443/v2") == [
        "archive.other.net",
        "registry.local",
    ]
    # A fresh Ubuntu names these; in a look-alike the test archive answers.
    ubuntus = {"archive.ubuntu.com", "security.ubuntu.com", "www.ubuntu.com"}
    found = {
        relative(path): hosts
        for path in TRACKED
        if relative(path).split("/")[0] not in VENDORS and (hosts := foreign(path.read_bytes()))
        if not (relative(path).startswith("tests/images/ubuntu-") and ubuntus.issuperset(hosts))
    }
    assert found == {}


def test_the_vendors_hosts_are_where_they_may_be() -> None:
    # A stack and the documentation may name the vendor's archive; code that does is tied to it.
    code = [
        path for path in TRACKED if relative(path).split("/")[0] in ("module_utils", "library", "roles", "playbooks")
    ]
    assert code
    for path in code:
        assert not re.search(r"https?://[\w.-]*(repo\.amd\.com|repo\.radeon\.com)", path.read_text()), relative(path)
