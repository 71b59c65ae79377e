"""The one type in which every check speaks, and its catalogue."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from halo import findings
from halo.findings import CATALOGUE, Finding

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs/findings.md").read_text(), re.MULTILINE
)
WHERE = ("module_utils", "library", "action_plugins", "callback_plugins", "roles")
SOURCES = [path for top in WHERE for suffix in ("py", "yml") for path in (ROOT / top).rglob(f"*.{suffix}")]
CODE = re.compile(r"\b[A-Z]+\.[A-Z]+(?:_[A-Z]+)*\b")


def test_the_page_has_a_row_for_each_code_and_no_other() -> None:
    codes = [row[0] for row in ROWS]
    assert codes == list(CATALOGUE)


def test_the_page_gives_the_catalogues_meaning_a_severity_and_what_to_do() -> None:
    for code, meaning, severity, todo in ROWS:
        assert meaning == CATALOGUE[code], code
        assert set(severity.split(", ")) <= set(findings.SEVERITIES), code
        assert len(todo) > 1, code


def test_every_code_is_used() -> None:
    said = {
        code
        for path in SOURCES
        if path != ROOT / "module_utils/halo/findings.py"
        for code in CODE.findall(path.read_text(encoding="utf-8"))
    }
    assert [code for code in CATALOGUE if code not in said] == []


def test_every_code_that_is_raised_is_in_the_catalogue() -> None:
    raised = {
        code for path in SOURCES for code in re.findall(r"Finding\(\s*\"([^\"]+)\"", path.read_text(encoding="utf-8"))
    }
    assert raised
    assert sorted(raised - set(CATALOGUE)) == []


@pytest.mark.parametrize(
    ("code", "severity", "remedy", "problem"),
    [
        ("APT.NOPE", "error", "do", "not in the catalogue"),
        ("APT.LOCKED", "fatal", "do", "is none of"),
        ("APT.LOCKED", "error", "", "no remedy"),
        ("APT.LOCKED", "warning", "", "no remedy"),
    ],
)
def test_a_finding_that_would_mislead_cannot_be_made(code: str, severity: str, remedy: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Finding(code, severity, "dpkg", "seen", remedy)


def test_text_is_worst_first_and_has_the_remedy() -> None:
    info = Finding("STACK.CHOSEN", "info", "distro", "newest")
    error = Finding("APT.LOCKED", "error", "dpkg", "held by apt", "wait")
    assert findings.text([info, error]).splitlines() == [
        "ERROR APT.LOCKED dpkg: held by apt",
        "  remedy: wait",
        "INFO STACK.CHOSEN distro: newest",
    ]
    assert findings.errors([info, error]) == [error]
