"""The closing table: what every stage did on every host, and what is to be done about it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .findings import SEVERITIES

#: Verdicts of a stage, worst first: where two tasks of a stage differ, the worse one is the stage's.
VERDICTS = ("unreachable", "failed", "refused", "changed", "would change", "ok", "skipped", "not reached")

#: Gives a text the colour of a severity or verdict. Layout counts characters before anything is painted.
Paint = Callable[[str, str], str]

#: Lines of one finding in the table. Only lists of packages are longer: a fact cut off is a question more.
FINDING_LINES = 12

#: What a finding is made of.
KEYS = ("code", "severity", "subject", "evidence", "remedy")

#: What is shown above the stages and not once more among them.
CHOSEN = "STACK.CHOSEN"

#: How the codes of attempts begin and end.
_ATTEMPTED = (("PROOF.", "VERIFY."), ("_FAILED", "_DIFFERS"))

_NARROW = 60

#: Lines of apt's preferences, which are copied into a file as they are.
_PREFERENCES = re.compile(r"\s*(?:Package|Pin|Pin-Priority): ")

#: Code of what was done -> code with which check mode foretold it.
_FORETELLS = {"REPAIR.DONE": "REPAIR.WOULD"}


@dataclass
class Stage:
    """What one stage did on one host, over all the plays that ran it; what check mode said is kept apart."""

    verdicts: set[str] = field(default_factory=set)
    checked: set[str] = field(default_factory=set)
    seen: list[dict[str, Any]] = field(default_factory=list)
    foretold: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings, without those of check mode that really came about."""
        about = {(_FORETELLS.get(finding["code"], finding["code"]), finding["subject"]) for finding in self.seen}
        return [f for f in self.foretold if (f["code"], f["subject"]) not in about] + self.seen

    def verdict(self, stopped: bool) -> str:
        """Return the stage's verdict.

        What really ran says more than what check mode foretold, unless check mode stopped the run. A task that was
        skipped did not run.

        Args:
            stopped: Whether something stopped this host, so that a stage without tasks was not reached.
        """
        worst = [verdict for verdict in VERDICTS[:3] if verdict in self.verdicts | self.checked]
        told = worst or [
            verdict for verdict in VERDICTS if verdict in (self.verdicts - {"skipped"} or self.checked or self.verdicts)
        ]
        return told[0] if told else ("not reached" if stopped else "skipped")

    def unsaid(self) -> list[str]:
        """Return the messages of failures, unless the stage's findings say what went wrong."""
        return [] if any(finding["severity"] == "error" for finding in self.findings) else self.notes


class Run:
    """Collects the results of one run of ansible-playbook."""

    def __init__(self, stages: Iterable[str] = ()) -> None:
        self._order = list(dict.fromkeys(stages))
        self._hosts: dict[str, dict[str, Stage]] = {}

    def add(self, host: str, stage: str, status: str, result: Mapping[str, Any], check: bool = False) -> None:
        """Add the result of one task.

        Args:
            host: Its name in the inventory.
            stage: The role that the task belongs to.
            status: ``ok``, ``failed``, ``skipped`` or ``unreachable``.
            result: The task's result.
            check: Whether the task ran in check mode.
        """
        if stage not in self._order:
            self._order.append(stage)
        seen = self._hosts.setdefault(host, {}).setdefault(stage, Stage())
        found = findings_of(result)
        listed = seen.foretold if check else seen.seen
        listed += [finding for finding in found if finding not in listed]
        (seen.checked if check else seen.verdicts).add(_verdict(status, result, found, check))
        if status in ("failed", "unreachable"):
            seen.notes += [note for note in _messages(result) if note not in seen.notes]

    def forgive(self, host: str) -> None:
        """Take back the failures of a host that ended well, because a rescue dealt with them."""
        for stage in self._hosts.get(host, {}).values():
            for verdicts in (stage.verdicts, stage.checked):
                if not verdicts.isdisjoint(VERDICTS[:3]):
                    verdicts.difference_update(VERDICTS[:3])
                    verdicts.add("ok")

    def report(self, **about: Any) -> dict[str, Any]:
        """Return everything as plain data, as it is written to the report.

        Args:
            **about: Further keys for the report, as when it ran.
        """
        hosts = {}
        for name, stages in sorted(self._hosts.items()):
            rows: list[dict[str, Any]] = []
            stopped = False
            for stage in self._order:
                seen = stages.get(stage, Stage())
                verdict = seen.verdict(stopped)
                stopped = stopped or verdict in VERDICTS[:3]
                rows.append({"stage": stage, "verdict": verdict, "findings": seen.findings, "notes": seen.unsaid()})
            chosen = next((f for row in rows for f in row["findings"] if f["code"] == CHOSEN), None)
            hosts[name] = {"stack": chosen and {"name": chosen["subject"], "why": chosen["evidence"]}, "stages": rows}
        return {"schema": 1, **about, "hosts": hosts}


def findings_of(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the findings of a task's result, also those of a loop's items, each once."""
    found: list[dict[str, Any]] = []
    items = result.get("results")
    for part in (result, *(items if isinstance(items, list) else ())):
        listed = part.get("findings") if isinstance(part, Mapping) else None
        for finding in listed if isinstance(listed, list) else ():
            if isinstance(finding, Mapping) and finding.get("severity") in SEVERITIES and "code" in finding:
                plain = {
                    key: str(finding.get(key, "")) for key in ("code", "severity", "subject", "evidence", "remedy")
                }
                if plain not in found:
                    found.append(plain)
    return found


def _messages(result: Mapping[str, Any]) -> list[str]:
    """Return what a failed task says; of a loop what its items say, since it only says that there are some."""
    listed = result.get("results")
    items = [item for item in listed if isinstance(item, Mapping)] if isinstance(listed, list) else []
    said = [str(item["msg"]) for item in items if item.get("msg") and (item.get("failed") or item.get("unreachable"))]
    return said or [str(result.get("msg") or "no message; run with -v")]


def plain(text: str, _style: str) -> str:
    """Paint nothing: where there is no terminal."""
    return text


def render(report: Mapping[str, Any], width: int, paint: Paint = plain) -> str:
    """Return the table as text.

    Args:
        report: What :meth:`Run.report` returned.
        width: Columns of the terminal; below 60 the findings stand under their stage.
        paint: Colours a word; see :data:`Paint`.
    """
    blocks = [_host(name, host, max(width, 40), paint) for name, host in report["hosts"].items()]
    return "\n\n".join(blocks) if blocks else "No host was reached. Look at -l and at the inventory."


def _host(name: str, host: Mapping[str, Any], width: int, paint: Paint) -> str:
    lines = [paint(name, "host")]
    if host["stack"]:
        lines += _wrap(f"stack {host['stack']['name']}: {host['stack']['why']}", width, "  ")
    first = max(len("stage"), *(len(row["stage"]) for row in host["stages"]))
    second = max(len("verdict"), *(len(row["verdict"]) for row in host["stages"]))
    wide = width >= _NARROW + first + second
    indent = " " * (2 + first + 2 + second + 2) if wide else " " * 4
    lines.append(f"  {'stage':<{first}}  " + (f"{'verdict':<{second}}  findings" if wide else "verdict"))
    for row in host["stages"]:
        head = f"  {row['stage']:<{first}}  {paint(row['verdict'], row['verdict'])}"
        body = _findings(row, width, indent, paint)
        if wide and body:
            lines.append(head + " " * (second - len(row["verdict"])) + "  " + body[0][len(indent) :])
            lines += body[1:]
        else:
            lines += [head, *body]
    return "\n".join(lines)


def _findings(row: Mapping[str, Any], width: int, indent: str, paint: Paint) -> list[str]:
    lines: list[str] = []
    shown = [finding for finding in row["findings"] if finding["code"] != CHOSEN]
    for finding in sorted(shown, key=lambda finding: SEVERITIES.index(finding["severity"])):
        severity = finding["severity"]
        said = f"{severity} {finding['code']} {finding['subject']}: {finding['evidence']}"
        wrapped = _wrap(said, width, indent, "  ")
        more = len(wrapped) - FINDING_LINES
        if more > 1:  # else what says so takes the line that it saves
            wrapped = [*wrapped[:FINDING_LINES], f"{indent}  {more} more lines in the report"]
        wrapped[0] = wrapped[0].replace(severity, paint(severity, severity), 1)
        lines += wrapped
        if finding["remedy"]:
            lines += _wrap(f"remedy: {finding['remedy']}", width, indent + "  ", "  ")
    for note in row["notes"]:
        lines += _wrap(note, width, indent, "  ")
    return lines


def _wrap(text: str, width: int, indent: str, hang: str = "") -> list[str]:
    """Wrap a text; its own line ends stay, empty lines do not.

    What must be typed is never cut, so a long word may pass the width.
    """
    lines: list[str] = []
    for line in filter(str.strip, text.splitlines()):
        if _PREFERENCES.match(line):
            lines.append(f"{indent}{hang}{line.strip()}")
            continue
        lines += textwrap.wrap(
            line,
            width,
            initial_indent=indent + hang if lines else indent,
            subsequent_indent=indent + hang,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def _verdict(status: str, result: Mapping[str, Any], found: list[dict[str, Any]], check: bool) -> str:
    if status == "failed":
        errors = [finding["code"] for finding in found if finding["severity"] == "error"]
        # An error that speaks of an attempt is a failure; any other one stopped the stage before it did anything.
        attempted = [code for code in errors if code.startswith(_ATTEMPTED[0]) or code.endswith(_ATTEMPTED[1])]
        return "refused" if errors and not attempted else "failed"
    if status == "ok" and result.get("changed"):
        return "would change" if check else "changed"
    return status
