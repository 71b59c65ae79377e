"""Which stack fits a host, and what it says for that host. Plain dicts in, plain dicts out.

Stacks have the form that ``stacks/schema.json`` gives them; :mod:`halo.stack_file` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from . import stack_fill
from .findings import Finding, errors
from .gpu import GFX_NAME, HALO_GFX

AUTO = "auto"

#: Which of two stacks of one release is the better one, the last of all: the vendor's before a distribution's.
CHANNELS = ("distro", "legacy", "amdrocm")

#: The same for what AMD says of Ryzen APUs; an entry without a word is no entry of AMD's.
_APU = ("userspace", "unstated", "supported")

Stack = Mapping[str, Any]
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """What a user asks for.

    Attributes:
        stack: Name of a stack, or ``auto``.
        gfx: Target to compile for, or ``auto``.
        components: Which of the stack's components are to be installed.
        mirror: URL below which every archive of a stack lies at ``HOST/PATH``; empty for the archives themselves.
        userspace_only: The user's word that this is no host of an APU, or that its GPU need not work.
    """

    stack: str = AUTO
    gfx: str = AUTO
    components: tuple[str, ...] = ("runtime",)
    mirror: str = ""
    userspace_only: bool = False


def resolve(
    stacks: Sequence[Stack], host: Mapping[str, Any], gpus: Sequence[Mapping[str, Any]], request: Request
) -> tuple[dict[str, Any] | None, list[Finding]]:
    """Choose a stack and return what it says for one host.

    Args:
        stacks: The stacks there are.
        host: A :class:`halo.host.Host` in its plain form.
        gpus: :class:`halo.gpu.Gpu` in their plain form.
        request: What the user asks for.

    Returns:
        ``halo_stack_data`` as ``docs/architecture.md`` describes it, ``None`` when an error is among the findings.
    """
    system = host["os"]
    stack, entry, reason, findings = choose(stacks, system, request.stack)
    if stack is None or entry is None:
        return None, findings
    findings += _components(stack, entry, request.components)
    gfx, source, about_gfx = target(request.gfx, host, gpus)
    findings += about_gfx
    if gfx:
        findings += _gfx(stacks, stack, entry, gfx, request.components)
    findings += _apu(stacks, stack, entry, host, gpus, request.userspace_only)
    findings += stack_fill.mirror_findings(request.mirror)
    unverified = _unverified(entry)
    if unverified:
        findings.append(
            Finding(
                "STACK.UNVERIFIED",
                "warning",
                f"{stack['name']} on {label(entry)}",
                "nobody has verified: " + "; ".join(unverified),
                f"read the plan before you go on; once it worked for you, correct stacks/{stack['name']}.yml",
            )
        )
    if errors(findings):
        return None, findings
    data = {
        "name": stack["name"],
        "title": stack["title"],
        "channel": stack["channel"],
        "reason": reason,
        "os": {key: system[key] for key in ("id", "version", "codename", "pretty")},
        "gfx": gfx,
        "gfx_source": source,
        "apu": entry.get("apu"),
        "on_apu": True if host["halo_cpu"] or any(gpu.get("apu") for gpu in gpus) else False if gpus else None,
        "rocm": stack_fill.rocm(entry["rocm"], stack["channel"], gfx, stacks, request.mirror),
        "archive": stack_fill.archive(entry.get("archive"), request.mirror),
        "toolchain": entry["toolchain"],
        "kernel": stack.get("kernel", []),
        "unverified": unverified,
    }
    chosen = Finding("STACK.CHOSEN", "info", stack["name"], f"ROCm {entry['rocm']['release']} for {gfx}: {reason}")
    return deepcopy(data), [chosen, *findings]


def choose(
    stacks: Sequence[Stack], system: Mapping[str, str], name: str
) -> tuple[Stack | None, Entry | None, str, list[Finding]]:
    """Return a stack, its entry for the host's OS release and the reason, or findings that say why there is none.

    Args:
        stacks: The stacks there are.
        system: ``os`` of the host's facts.
        name: Name of a stack. ``auto`` takes, among those whose package names are verified for the OS release, one of
            those of which AMD says most for Ryzen APUs there, and of these the newest ROCm; at equal releases the
            order of :data:`CHANNELS` decides, then the stack's date.
    """
    here = system["pretty"] or f"{system['id']} {system['version']}".strip() or "unknown"
    fitting = [(stack, entry) for stack in stacks for entry in stack["os"] if _is(entry, system)]
    if name == AUTO:
        verified = [(stack, entry) for stack, entry in fitting if entry["names_verified"]]
        if verified:
            stack, entry = max(verified, key=lambda pair: _rank(*pair))
            reason = f"newest stack whose package names are verified for {label(entry)}"
            better = [other for other, one in verified if _release(one) > _release(entry)]
            if better:
                newer = ", ".join(sorted(other["name"] for other in better))
                reason += f"; not {newer}, which AMD supports there for other GPUs only"
            return stack, entry, reason, []
        best = max(fitting, key=lambda pair: (-len(_unverified(pair[1])), _rank(*pair)), default=None)
        remedy = f"-e halo_stack={best[0]['name']} to use what nobody has verified" if best else _move(stacks)
        evidence = "its entries are not verified for" if fitting else "none has an entry for"
        return None, None, "", [Finding("STACK.OS_UNSUPPORTED", "error", AUTO, f"{evidence} {here}", remedy)]

    named = [stack for stack in stacks if stack["name"] == name]
    if not named:
        names = sorted(stack["name"] for stack in stacks)
        return None, None, "", [unknown(name, names)]
    for stack, entry in fitting:
        if stack is named[0]:
            return stack, entry, "chosen by halo_stack", []
    others = sorted({stack["name"] for stack, _ in fitting})
    remedy = f"-e halo_stack={others[0]}, which knows {here}" if others else _move(named)
    known = ", ".join(label(entry) for entry in named[0]["os"])
    evidence = f"it knows {known}, not {here}"
    return None, None, "", [Finding("STACK.OS_UNSUPPORTED", "error", name, evidence, remedy)]


def unknown(name: str, names: Sequence[str]) -> Finding:
    """Return the finding for a stack that does not exist."""
    return Finding(
        "STACK.UNKNOWN",
        "error",
        name,
        f"stacks/ has {', '.join(names) or 'none'}",
        f"-e halo_stack={(get_close_matches(name, names, 1) or [AUTO])[0]}",
    )


def target(wanted: str, host: Mapping[str, Any], gpus: Sequence[Mapping[str, Any]]) -> tuple[str, str, list[Finding]]:
    """Return the gfx target, where it comes from (``variable``, ``gpu``, ``cpu``), and findings.

    What the user says comes first, then the GPU that was found. A Ryzen AI Max whose driver is not up yet has
    one gfx target only, so its CPU's name is enough.
    """
    found = [gpu["gfx"] for gpu in gpus]
    if wanted != AUTO:
        if not GFX_NAME.fullmatch(wanted):
            remedy = f"-e halo_gfx={found[0] if found else HALO_GFX}"
            return "", "", [Finding("STACK.GFX_UNSUPPORTED", "error", wanted, "no name of a gfx target", remedy)]
        if found and wanted not in found:
            differs = Finding(
                "GPU.GFX_DIFFERS",
                "warning",
                wanted,
                f"halo_gfx asks for {wanted}, the host has {', '.join(found)}",
                "leave halo_gfx away, or do not expect programs for it to run on this host",
            )
            return wanted, "variable", [differs]
        return wanted, "variable", []
    if found:
        return (HALO_GFX if HALO_GFX in found else found[0]), "gpu", []
    if host["halo_cpu"]:
        return HALO_GFX, "cpu", []
    evidence = "there is no GPU to take it from, and halo_gfx is auto"
    return "", "", [Finding("GPU.ABSENT", "error", "gfx target", evidence, f"-e halo_gfx={HALO_GFX}")]


def label(entry: Entry) -> str:
    """Return an OS release as a person says it: ``Debian 13``."""
    return f"{entry['id'].capitalize()} {entry['version']}"


def _rank(stack: Stack, entry: Entry) -> tuple[int, tuple[int, ...], int, str, str]:
    apu = _APU.index(entry.get("apu", "supported"))
    return apu, _release(entry), CHANNELS.index(stack["channel"]), stack["date"], stack["name"]


def _release(entry: Entry) -> tuple[int, ...]:
    return tuple(int(part) for part in entry["rocm"]["release"].split("."))


def _is(entry: Entry, system: Mapping[str, str]) -> bool:
    return bool(entry["id"] == system["id"] and entry["version"] == system["version"])


def _move(stacks: Sequence[Stack]) -> str:
    known = sorted({label(entry) for stack in stacks for entry in stack["os"]})
    return f"install {' or '.join(known)}, or add an entry to a stack as docs/stacks.md says"


def _unverified(entry: Entry) -> list[str]:
    return [fact["about"] for fact in entry["facts"] if not fact["verified"]]


def _components(stack: Stack, entry: Entry, wanted: Sequence[str]) -> list[Finding]:
    known = sorted(entry["rocm"]["components"])
    findings = []
    for name in wanted:
        if name not in known:
            likely = (get_close_matches(name, known, 1) or ["runtime"])[0]
            findings.append(
                Finding(
                    "STACK.COMPONENT_UNKNOWN",
                    "error",
                    name,
                    f"{stack['name']} has {', '.join(known)} for {label(entry)}",
                    f"write {likely} instead in halo_rocm_components",
                )
            )
    return findings


def _gfx(stacks: Sequence[Stack], stack: Stack, entry: Entry, gfx: str, components: Sequence[str]) -> list[Finding]:
    rocm = entry["rocm"]
    here = f"{stack['name']} on {label(entry)}"
    if gfx not in rocm["gfx"]:
        remedy = f"-e halo_gfx={rocm['gfx'][-1]} to go on with proofs for another target"
        places = _places(stacks, gfx)
        evidence = f"its compiler (ROCm {rocm['release']}) knows {', '.join(rocm['gfx'])}"
        return [_unsupported("error", gfx, here, evidence, f"use {places}, or {remedy}" if places else remedy)]
    findings = []
    if HALO_GFX not in rocm["gfx"]:
        places = _places(stacks, HALO_GFX)
        evidence = f"its compiler (ROCm {rocm['release']}) does not know the Halo's target; the proofs are for {gfx}"
        findings.append(_unsupported("warning", HALO_GFX, here, evidence, f"use {places or 'another stack'} on a Halo"))
    kernels = rocm.get("library_gfx", [gfx])
    if "libraries" in components and gfx not in kernels:
        evidence = f"its libraries hold kernels for {', '.join(kernels)}; calls into them fail on {gfx}"
        findings.append(_unsupported("warning", gfx, here, evidence, "use the libraries of a newer stack on this GPU"))
    return findings


def _apu(
    stacks: Sequence[Stack],
    stack: Stack,
    entry: Entry,
    host: Mapping[str, Any],
    gpus: Sequence[Mapping[str, Any]],
    userspace_only: bool,
) -> list[Finding]:
    if entry.get("apu", "supported") == "supported":
        return []
    halo = host["halo_cpu"] or HALO_GFX in [gpu["gfx"] for gpu in gpus]
    if gpus and not halo:
        return []  # another GPU, for which AMD does support it
    places = [one for other in stacks for one in other["os"] if one.get("apu") == "supported"]
    known = " or ".join(sorted({label(one) for one in places})) or "a release that AMD names"
    said = "supports it for other GPUs only" if entry["apu"] == "userspace" else "says nothing about them there"
    evidence = (
        f"{stack['name']} on {label(entry)}: AMD {said}; what works is what needs no driver of this host: building, "
        f"and containers on a host with {known}"
    )
    stops = halo and not userspace_only
    remedy = f"install {known}" + (", or -e halo_allow_userspace_only=true to go on without its GPU" if stops else "")
    return [Finding("STACK.APU_UNSUPPORTED", "error" if stops else "warning", "Ryzen APUs", evidence, remedy)]


def _unsupported(severity: str, gfx: str, here: str, evidence: str, remedy: str) -> Finding:
    return Finding("STACK.GFX_UNSUPPORTED", severity, gfx, f"{here}: {evidence}", remedy)


def _places(stacks: Sequence[Stack], gfx: str) -> str:
    """Return where a gfx target is known: ``Debian 13 (stack distro)``."""
    places = [(stack, entry) for stack in stacks for entry in stack["os"] if gfx in entry["rocm"]["gfx"]]
    return " or ".join(f"{label(entry)} (stack {stack['name']})" for stack, entry in places)
