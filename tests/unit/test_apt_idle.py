"""Pins that match no archive; the archives here are stand-ins for what python3-apt says of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.module_utils.halo.apt.idle import idle_pins, stanzas

AMD = SimpleNamespace(
    origin="AMD ROCm",
    label="AMD ROCm",
    archive="stable",
    codename="stable",
    component="main",
    version="",
    site="stable.repo.example",
    not_source=False,
)
STATUS = SimpleNamespace(
    origin="", label="", archive="now", codename="", component="", version="", site="", not_source=True
)


def idle(tmp_path: Path, text: str, name: str = "rocm-pin-600", own: tuple[str, ...] = ()) -> list[str]:
    """Return the evidence of each finding about one file in preferences.d, where AMD's archive is the only one."""
    parts = tmp_path / "preferences.d"
    parts.mkdir()
    (parts / name).write_text(text)
    root = SimpleNamespace(path=tmp_path, host=Path("/"))
    view = SimpleNamespace(cache=SimpleNamespace(file_list=[AMD, STATUS]))
    findings = idle_pins(root, view, own)
    assert all((one.code, one.severity) == ("APT.PIN_IDLE", "warning") for one in findings)
    assert all(one.subject == f"/etc/apt/preferences.d/{name}" for one in findings)
    return [one.evidence for one in findings]


def pin(pin: str, priority: str = "600") -> str:
    return f"# AMD's\nPackage: *\nPin: {pin}\nPin-Priority: {priority}\n"


def test_pin_of_the_other_channel_is_told_with_the_origins_that_there_are(tmp_path: Path) -> None:
    (evidence,) = idle(tmp_path, pin("release o=repo.radeon.com"))
    assert evidence == "`Pin: release o=repo.radeon.com` for * matches no archive; their origins are AMD ROCm"


@pytest.mark.parametrize(
    "text",
    [
        pin("release o=AMD ROCm"),
        pin('release o="AMD ROCm", a=stable'),
        pin("release n=stab*"),
        pin("release o=/^AMD/"),
        pin("origin stable.repo.example"),
        pin('origin "stable.repo.example"'),
        pin("version 1.*"),
        pin("release stable"),
        pin("release o=repo.radeon.com", "-10"),
        pin("release o=repo.radeon.com", "never"),
        "Package: *\nPin: release o=repo.radeon.com\n",
        "",
    ],
)
def test_pins_that_match_or_forbid_or_are_not_understood_are_left_alone(tmp_path: Path, text: str) -> None:
    assert idle(tmp_path, text) == []


@pytest.mark.parametrize(
    "text", [pin("release o=AMD ROCm,a=jammy"), pin("release n=noble"), pin("origin repo.example")]
)
def test_every_part_of_a_pin_must_match(tmp_path: Path, text: str) -> None:
    assert len(idle(tmp_path, text)) == 1


@pytest.mark.parametrize(("name", "own"), [("x.dpkg-old", ()), ("halo-rocm_runtime.pref", ("halo-rocm_runtime.pref",))])
def test_files_that_apt_does_not_read_or_that_this_run_writes(tmp_path: Path, name: str, own: tuple[str, ...]) -> None:
    assert idle(tmp_path, pin("release o=elsewhere"), name, own) == []


def test_stanzas_are_read_as_apt_reads_them() -> None:
    text = (
        "Explanation: mine\nPackage: a\n b\npin:  release  o=x\nPin-Priority: +700\n\n# no stanza\n\n"
        "Package: c\nPin: origin y\nPin-Priority: 1\n"
    )
    assert list(stanzas(text)) == [("release o=x", "a b", 700), ("origin y", "c", 1)]
