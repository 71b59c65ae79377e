"""The closing table: verdicts, findings once each, and a layout for any width."""

from __future__ import annotations

import re
from typing import Any

import pytest
from halo import table

PLAN = {"playbook": "site.yml"}


def finding(code: str = "APT.LOCKED", severity: str = "error", **more: str) -> dict[str, str]:
    plain = {"subject": "dpkg", "evidence": "held by process 7 (apt)", "remedy": "wait" if severity != "info" else ""}
    return {"code": code, "severity": severity, **plain, **more}


def result(*findings: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"changed": False, "findings": list(findings), **more}


def verdicts(run: table.Run, host: str = "d13") -> dict[str, str]:
    return {row["stage"]: row["verdict"] for row in run.report()["hosts"][host]["stages"]}


def test_stages_keep_their_order_and_a_stop_leaves_the_rest_unreached() -> None:
    run = table.Run(["stack", "apt_transaction", "rocm_runtime", "host_verify", "stack"])
    run.add("d13", "stack", "ok", result(), check=True)
    run.add("d13", "apt_transaction", "failed", result(finding()), check=True)
    assert verdicts(run) == {
        "stack": "ok",
        "apt_transaction": "refused",
        "rocm_runtime": "not reached",
        "host_verify": "not reached",
    }
    assert list(verdicts(run)) == ["stack", "apt_transaction", "rocm_runtime", "host_verify"]


def test_without_a_stop_what_did_not_run_was_skipped() -> None:
    run = table.Run(["stack", "rocm_runtime"])
    run.add("d13", "stack", "ok", result())
    assert verdicts(run) == {"stack": "ok", "rocm_runtime": "skipped"}


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([("ok", {}, False)], "ok"),
        ([("skipped", {}, False)], "skipped"),
        ([("skipped", {}, False), ("ok", {}, False)], "ok"),
        ([("ok", {"changed": True}, False), ("ok", {}, False)], "changed"),
        ([("ok", {"changed": True}, True)], "would change"),
        ([("ok", {"changed": True}, True), ("ok", {"changed": True}, False)], "changed"),
        ([("ok", {"changed": True}, True), ("ok", {}, False)], "ok"),
        ([("ok", {"changed": True}, True), ("failed", {"msg": "boom"}, False)], "failed"),
        ([("failed", {"msg": "boom"}, True), ("ok", {}, False)], "failed"),
        ([("unreachable", {"msg": "no route"}, False)], "unreachable"),
        ([("failed", result(finding()), False)], "refused"),
        ([("failed", result(finding(severity="warning")), False)], "failed"),
        ([("failed", result(finding("PROOF.RUN_FAILED")), False)], "failed"),
        ([("failed", result(finding("VERIFY.PACKAGE_DIFFERS")), False)], "failed"),
        ([("failed", result(finding("APT.EXECUTE_FAILED")), False)], "failed"),
        ([("failed", {"results": [result(), result(finding())]}, False)], "refused"),
    ],
)
def test_the_verdict_of_a_stage(tasks: list[tuple[str, dict[str, Any], bool]], expected: str) -> None:
    run = table.Run()
    for status, outcome, check in tasks:
        run.add("d13", "x", status, outcome, check)
    assert verdicts(run) == {"x": expected}


def test_the_same_finding_of_three_plays_is_one_and_differing_ones_stay() -> None:
    run = table.Run()
    for check in (True, False, False):
        run.add("d13", "stack", "ok", result(finding(severity="warning")), check)
    run.add("d13", "stack", "ok", result(finding(severity="warning", evidence="held by process 8")))
    run.add("d13", "verify", "ok", result(finding(severity="warning")))
    rows = run.report()["hosts"]["d13"]["stages"]
    assert [len(row["findings"]) for row in rows] == [2, 1]


def test_what_was_repaired_takes_the_place_of_what_would_be() -> None:
    run = table.Run()
    run.add(
        "d13",
        "apt_repair",
        "ok",
        result(finding("REPAIR.WOULD", "info", subject="/a"), finding("REPAIR.WOULD", "info", subject="/b")),
        True,
    )
    run.add("d13", "apt_repair", "ok", result(finding("REPAIR.DONE", "info", subject="/a")))
    (row,) = run.report()["hosts"]["d13"]["stages"]
    assert [(one["code"], one["subject"]) for one in row["findings"]] == [("REPAIR.WOULD", "/b"), ("REPAIR.DONE", "/a")]


def test_a_stanza_of_preferences_is_never_wrapped() -> None:
    packages = " ".join(f"a-package-{number}" for number in range(40))
    run = table.Run()
    stanza = f"Package: {packages}\nPin: release o=Debian,n=trixie\nPin-Priority: 990"
    run.add(
        "d13",
        "apt_transaction",
        "failed",
        result(finding(remedy=f"let apt take these:\n  {stanza}\ntried: 5 to upgrade")),
    )
    shown = table.render(run.report(), 100)
    block = shown[shown.index("Package:") :].splitlines()[:3]
    assert "\n".join(line.strip() for line in block) == stanza
    assert len({len(line) - len(line.lstrip()) for line in block[1:]}) == 1


def test_findings_of_loop_items_are_found() -> None:
    loop = {"results": [result(finding(subject="a")), {"skipped": True}, "squashed", result(finding(subject="b"))]}
    assert [found["subject"] for found in table.findings_of(loop)] == ["a", "b"]


@pytest.mark.parametrize(
    "strange",
    [
        {"findings": "none"},
        {"findings": [None, "text", 7, {}]},
        {"findings": [{"code": "X", "severity": "fatal"}]},
        {"results": 7},
        {"results": [None]},
        {"findings": None, "results": None},
    ],
)
def test_a_result_of_another_shape_is_no_error(strange: dict[str, Any]) -> None:
    assert table.findings_of(strange) == []


def test_a_rescued_failure_is_no_failure() -> None:
    run = table.Run(["x", "y"])
    run.add("d13", "x", "failed", {"msg": "boom"})
    run.add("d13", "y", "ok", {"changed": True})
    run.forgive("d13")
    assert verdicts(run) == {"x": "ok", "y": "changed"}


def test_a_failures_message_shows_unless_findings_say_it() -> None:
    run = table.Run()
    run.add("a", "x", "failed", {"msg": "a traceback"})
    run.add("b", "x", "failed", result(finding()))
    run.add("b", "x", "failed", {"msg": "the same in other words"})
    run.add("c", "x", "unreachable", {})
    hosts = run.report()["hosts"]
    assert [hosts[name]["stages"][0]["notes"] for name in "abc"] == [["a traceback"], [], ["no message; run with -v"]]


def full_report() -> dict[str, Any]:
    run = table.Run(["stack", "apt_transaction", "host_verify"])
    chosen = finding(
        "STACK.CHOSEN", "info", subject="distro", evidence="ROCm 5.7.1 for gfx1151: newest stack", remedy=""
    )
    run.add("d13", "stack", "ok", result(finding("STACK.UNVERIFIED", "warning"), chosen))
    long = "; ".join(f"package{number} is kept back" for number in range(40))
    run.add("d13", "apt_transaction", "failed", result(finding("PROOF.PASSED", "info"), finding(evidence=long)))
    run.add("a-host", "stack", "unreachable", {"msg": "ssh: connect to host a-host port 22:\n\n  \nNo route to host"})
    return run.report(playbook="site.yml")


def test_the_table_says_everything_worst_first() -> None:
    text = table.render(full_report(), 100)
    assert text.index("a-host") < text.index("d13")
    assert "stack distro: ROCm 5.7.1 for gfx1151: newest stack" in text
    assert text.count("STACK.CHOSEN") == 0
    assert text.index("error APT.LOCKED dpkg") < text.index("info PROOF.PASSED")
    assert "remedy: wait" in text
    assert re.search(r"^ +\d+ more lines in the report$", text, re.MULTILINE)
    assert "package39" not in text
    assert [line.split()[:2] for line in text.splitlines() if line.startswith("  apt_transaction")] == [
        ["apt_transaction", "refused"],
        ["apt_transaction", "not"],
    ][::-1]
    assert "No route to host" in text


@pytest.mark.parametrize("width", [1, 40, 59, 60, 80, 100, 200])
def test_the_width_is_kept_except_for_words_that_must_be_typed_whole(width: int) -> None:
    for line in table.render(full_report(), width).splitlines():
        assert len(line) <= max(width, 40) or " " not in line.strip()
        assert line == line.rstrip()


KEYS = [f"{digit * 40} expires 2028-0{digit}-03T04:05:06Z" for digit in "12"]
FACTS = [
    finding(
        "KEY.REFRESHED", "info", evidence=f"now: {', '.join(KEYS)}; before: {', '.join(KEYS)}; from https://x.test/k"
    ),
    finding(
        "KEY.WRONG_FINGERPRINT", evidence=f"served {KEYS[0]} (A stranger <stranger@example.org>); wanted {KEYS[1]}"
    ),
    finding(
        "SOURCE.CONFLICT",
        evidence="\n".join(f"/etc/apt/sources.list.d/{n}.list:1 signed-by=/x/{n}.gpg" for n in range(9)),
    ),
]


@pytest.mark.parametrize("fact", FACTS, ids=[fact["code"] for fact in FACTS])
@pytest.mark.parametrize("width", [80, 100])
def test_a_fact_is_printed_whole(fact: dict[str, str], width: int) -> None:
    run = table.Run(["apt_transaction"])
    run.add("d13", "apt_transaction", "failed", result(fact))
    text = table.render(run.report(), width)
    assert [word for word in fact["evidence"].split() if word not in text] == []
    assert "more lines" not in text


def test_what_check_mode_foretold_gives_way_to_what_came_about() -> None:
    run = table.Run()
    foretold = [finding("KEY.INSTALLED", "info", subject=name, evidence="would be: X") for name in ("a.gpg", "b.gpg")]
    run.add("d13", "x", "ok", result(*foretold), check=True)
    assert [f["evidence"] for f in run.report()["hosts"]["d13"]["stages"][0]["findings"]] == ["would be: X"] * 2
    run.add("d13", "x", "ok", result({**foretold[0], "evidence": "now: X"}))
    said = [(f["subject"], f["evidence"]) for f in run.report()["hosts"]["d13"]["stages"][0]["findings"]]
    assert said == [("b.gpg", "would be: X"), ("a.gpg", "now: X")]


def test_a_failed_loop_says_what_its_items_say() -> None:
    run = table.Run()
    items = [{"failed": True, "msg": "no space"}, {"msg": "done"}, {"failed": True, "msg": "no such file"}]
    run.add("d13", "x", "failed", {"msg": "One or more items failed", "results": items})
    assert run.report()["hosts"]["d13"]["stages"][0]["notes"] == ["no space", "no such file"]


def test_a_long_word_is_never_cut() -> None:
    run = table.Run()
    command = "/opt/" + "x" * 150
    run.add("d13", "x", "failed", result(finding(remedy=command)))
    assert command in table.render(run.report(), 80)


def test_paint_changes_no_layout() -> None:
    plain = table.render(full_report(), 100)
    painted = table.render(full_report(), 100, lambda text, style: f"\x1b[1m{text}\x1b[0m")
    assert painted != plain
    assert painted.replace("\x1b[1m", "").replace("\x1b[0m", "") == plain


def test_severities_are_painted_by_their_own_name() -> None:
    seen: list[tuple[str, str]] = []
    table.render(full_report(), 100, lambda text, style: seen.append((text.strip(), style)) or text)  # type: ignore[func-returns-value]
    assert ("error", "error") in seen
    assert ("refused", "refused") in seen
    assert ("d13", "host") in seen


def test_a_run_without_hosts_says_so() -> None:
    assert "-l" in table.render(table.Run(["stack"]).report(), 80)
