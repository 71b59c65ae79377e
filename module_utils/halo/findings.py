"""The one type in which every check speaks, and the catalogue of its codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

#: Worst first: the order in which a table shows them.
SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class Finding:
    """One thing observed on a host.

    Attributes:
        code: A key of :data:`CATALOGUE`, ``AREA.WHAT`` in capitals.
        severity: ``error`` (stops the run), ``warning`` or ``info``.
        subject: What it is about: a package, a file, a stack, a device.
        evidence: What was seen, as exact as it can be shown in one or a few lines.
        remedy: What to do or to type; empty only for ``info``.

    Raises:
        ValueError: An unknown code or severity, or a missing remedy: a mistake of the caller.
    """

    code: str
    severity: str
    subject: str
    evidence: str
    remedy: str = ""

    def __post_init__(self) -> None:
        if self.code not in CATALOGUE:
            raise ValueError(f"finding code {self.code!r} is not in the catalogue")
        if self.severity not in SEVERITIES:
            raise ValueError(f"severity {self.severity!r} is none of {', '.join(SEVERITIES)}")
        if self.severity != "info" and not self.remedy:
            raise ValueError(f"finding {self.code} of severity {self.severity} has no remedy")

    def as_dict(self) -> dict[str, Any]:
        """Return the plain form in which modules return findings."""
        return asdict(self)

    def text(self) -> str:
        """Return the finding as a person reads it: what, on what evidence, what to type."""
        text = f"{self.severity.upper()} {self.code} {self.subject}: {self.evidence}"
        if self.remedy:
            text += f"\nremedy: {self.remedy}"
        return text.replace("\n", "\n  ")


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that stop a run."""
    return [finding for finding in findings if finding.severity == "error"]


def as_warnings(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings of a host that is about to be repaired, none of which stops the run."""
    return [replace(finding, severity="warning") if finding.severity == "error" else finding for finding in findings]


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings ordered by severity, otherwise as they came."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def text(findings: Iterable[Finding]) -> str:
    """Return several findings as one message, worst first."""
    return "\n".join(finding.text() for finding in worst_first(findings))


#: Code -> what it means, in one sentence. ``docs/findings.md`` has a row for each; a test compares the two.
CATALOGUE: dict[str, str] = {
    # stacks
    "STACK.UNKNOWN": "The chosen stack does not exist in stacks/.",
    "STACK.INVALID": "A stack file cannot be read or breaks its schema.",
    "STACK.CHOSEN": "Which stack was chosen and why.",
    "STACK.OS_UNSUPPORTED": "The stack has no entry for this host's OS release.",
    "STACK.GFX_UNSUPPORTED": "The stack's compiler or kernels do not know this gfx target.",
    "STACK.APU_UNSUPPORTED": "AMD does not support its Ryzen APUs on this OS release with this ROCm.",
    "STACK.MIRROR_INVALID": "The mirror for the stack's URLs cannot be used.",
    "STACK.COMPONENT_UNKNOWN": "The stack has no component of this name for the host's OS release.",
    "STACK.UNVERIFIED": "The stack holds facts for this host that nobody has verified yet.",
    # what Ansible itself refuses
    "VARIABLE.INVALID": "A variable has a value of the wrong type, or one that is not among its choices.",
    "HOST.UNREACHABLE": "The host does not answer, or does not let Ansible in.",
    # the host
    "HOST.NOT_HALO": "Neither the GPU nor the CPU of this machine is a Ryzen AI Max (gfx1151).",
    "HOST.ARCH": "The host's architecture is not the one that ROCm packages exist for.",
    "GPU.ABSENT": "No GPU is visible to ROCm on this host.",
    "GPU.UNREADABLE": "What the driver says about a device cannot be read or understood, so it is left out.",
    "GPU.GFX_DIFFERS": "The GPU that was found is another gfx target than the one that was asked for.",
    # apt
    "APT.PYTHON_ABSENT": "python3-apt is missing, without which nothing can be planned.",
    "APT.CONFIG_UNREADABLE": "apt's configuration, sources or preferences cannot be read.",
    "APT.REFRESH_FAILED": "An archive does not answer.",
    "APT.NOT_FOUND": "An archive does not exist at its URL, or not in this suite.",
    "APT.LOGIN_PAGE": "Something else answers in an archive's place, such as the login page of a network.",
    "APT.KEY_EXPIRED": "The key that signs an archive has expired, as the host has it.",
    "APT.KEY_MISSING": "The host does not have the key that signs an archive.",
    "APT.KEY_UNUSABLE": "The keyring of an archive cannot be read, or its key has been revoked.",
    "APT.SIGNATURE_BAD": "An archive was changed after it was signed, or is signed too weakly.",
    "APT.UNSIGNED": "An archive is not signed.",
    "APT.INDEX_DIFFERS": "An index is not the one that the archive's signed Release file names.",
    "APT.CLOCK": "By the host's date an archive is no longer valid, or not yet.",
    "APT.PIN_IDLE": "A pin prefers an archive that is not among the host's sources.",
    "APT.STATUS_UNREADABLE": "dpkg's status or apt's lists cannot be read.",
    "APT.DPKG_INTERRUPTED": "dpkg was interrupted and must finish before anything else.",
    "APT.WISH_INVALID": "A wish cannot be understood: its name, version bound, state or destination.",
    "APT.WISH_CONFLICT": "Two roles wish for versions or states of one package that exclude each other.",
    "APT.WISH_UNKNOWN": "No configured archive has the package.",
    "APT.WISH_VIRTUAL": "The name is a virtual package; a wish needs a real one.",
    "APT.WISH_VERSION": "No archive offers a version within the wished bound and origin.",
    "APT.UNSOLVABLE": "apt finds no way to fulfil the wishes together.",
    "APT.UPGRADE_REFUSED": "The plan would move an installed package to another release's or origin's version.",
    "APT.DOWNGRADE_REFUSED": "The plan would downgrade a package.",
    "APT.REMOVE_REFUSED": "The plan would remove a package.",
    "APT.HELD_REFUSED": "The plan would change a package that is on hold.",
    "APT.ESSENTIAL_REFUSED": "The plan would remove an essential package.",
    "APT.NO_SPACE": "The file system is too full for what the plan downloads or unpacks.",
    "APT.LOCKED": "Another process holds apt's or dpkg's lock.",
    "APT.DOWNLOAD_FAILED": "A package of the plan could not be downloaded or verified.",
    "APT.EXECUTE_FAILED": "dpkg failed while it executed the plan.",
    "APT.RESULT_DIFFERS": "After execution the host is not what the plan said.",
    "APT.FILE_IGNORED": "A file below /etc/apt has a name for which apt does not read it.",
    "APT.PREFERENCES_UNREADABLE": "apt refuses a file of preferences, and with it every call.",
    "APT.PIN_BROAD": "A pin lifts every package of the stack's archive, not only those that are meant.",
    "APT.PIN_EVERYTHING": "A pin for every package matches all archives alike.",
    "APT.NO_ARCHIVE": "Packages are installed that no configured archive has.",
    # sources, and what dpkg says
    "SOURCE.UNREADABLE": "apt refuses a line or stanza of a source, and with it every call.",
    "SOURCE.CONFLICT": "Sources of one archive contradict each other in Signed-By or Trusted.",
    "SOURCE.TWICE": "Several sources name the same archive.",
    "SOURCE.STRAY": "A source names the stack's archive in another file than the one that belongs to it.",
    "SOURCE.OTHER_CHANNEL": "A source names ROCm of another channel, beside which the stack's cannot be.",
    "SOURCE.WRONG_SUITE": "A source is for another release of the operating system than the host's.",
    "SOURCE.NOT_THERE": "A source names a component or an architecture that its archive does not have.",
    "SOURCE.NO_LISTS": "Nothing of an archive is among the host's lists, so some checks cannot be made.",
    "SOURCE.UNVERIFIED": "A source turns the check of signatures off.",
    "SOURCE.KEY_MISSING": "A source's keyring is not there, or the archive's key is in none that apt takes for it.",
    "SOURCE.KEY_WRONG": "A source's keyring has other keys than the one that signs the archive.",
    "SOURCE.KEY_EXPIRED": "The key that a source is verified with has expired or was revoked.",
    "SOURCE.KEY_EXPIRING": "The key that a source is verified with expires soon.",
    "SOURCE.KEYRING_UNUSABLE": "apt cannot use the keyring that a source names.",
    "DPKG.UNFINISHED": "dpkg has begun with a package and not finished.",
    "DPKG.AMDGPU_DKMS": "AMD's kernel module is installed on a machine whose GPU uses the kernel's own driver.",
    "DPKG.HELD": "Packages are on hold.",
    "DPKG.DIVERTED": "Files are diverted by hand, or for a package that is not installed.",
    # repairs
    "REPAIR.DONE": "Something that was wrong with apt or dpkg was repaired.",
    "REPAIR.WOULD": "A run that is not in check mode repairs this.",
    "REPAIR.REFUSED": "Something that is wrong is left alone: repairing it would touch more than it may.",
    "REPAIR.FAILED": "A repair did not work.",
    # keyrings
    "KEY.INVALID": "A wish for a keyring cannot be understood: its path, fingerprints or sources.",
    "KEY.PATH_UNUSABLE": "The keyring cannot be read or written where it belongs.",
    "KEY.SOURCE_FAILED": "A source of keys does not answer, or does not have the file.",
    "KEY.SOURCE_UNREADABLE": "What a source of keys gives is no usable public key.",
    "KEY.WRONG_FINGERPRINT": "A source gives another key than the one that is wanted.",
    "KEY.FOREIGN": "A source gives further keys, which are left out.",
    "KEY.EXPIRED": "The wanted key has expired, and no source has one that has not.",
    "KEY.EXPIRING": "The wanted key expires soon, and no source has one that expires later.",
    "KEY.REVOKED": "The wanted key revokes itself.",
    "KEY.INSTALLED": "A key came onto the host that was not there.",
    "KEY.REFRESHED": "A key on the host was replaced by the same key with another expiry.",
    "KEY.NORMALISED": "The keyring on the host was put into the form that apt reads, with the wanted keys alone.",
    "KEY.CLOCK": "The host's clock is before the creation of a key.",
    "KEY.STALE_COPY": "A store that all sources share has an old copy of a key that lasts longer in another keyring.",
    "KEY.LEFT_OVER": "A store that all sources share is unreadable, or all of its keys have expired.",
    # toolchain
    "TOOLCHAIN.REQUEST_INVALID": "The name, the major version or the prefix of a toolchain cannot be used.",
    "TOOLCHAIN.DEB_UNREADABLE": "A downloaded .deb is missing, damaged or not the one that was planned.",
    "TOOLCHAIN.NO_SPACE": "The file system is too full for the toolchain.",
    "TOOLCHAIN.PREFIX_OCCUPIED": "Something that this project did not make lies where the toolchain belongs.",
    "TOOLCHAIN.NO_LIBSTDCXX": "The gcc that clang takes for its C++ library has no C++ headers.",
    "TOOLCHAIN.LIBCXX_NEEDS_CLANG": "The headers of libc++ are for a newer clang.",
    "TOOLCHAIN.BITCODE_NEWER": "The device libraries of ROCm were written by a newer LLVM than the clang beside them.",
    "PIN.INVALID": "A pin cannot be written as an apt preference.",
    "PIN.FOREIGN_FILE": "The preferences file to be written was not made by this project.",
    # rocm
    "ROCM.MIXED_ORIGIN": "Packages of the ROCm set come from different origins.",
    "ROCM.CHANNELS_MIXED": "ROCm of another channel is installed, beside which the stack's cannot be.",
    "ROCM.ALL_GPUS": "A package is wished for that brings the code for every GPU there is.",
    "ROCM.LINK_ELSEWHERE": "/opt/rocm leads to another release than the stack's.",
    "ROCM.RELEASE_BESIDE": "Another release of ROCm is installed beside the stack's.",
    # ELF objects
    "ABI.REQUEST_INVALID": "A check of ELF objects cannot be made as it was asked for.",
    "ABI.LIBRARY_MISSING": "A library that an object needs is nowhere the loader looks.",
    "ABI.LIBRARY_UNUSABLE": "The loader stops at a file of the needed name that it cannot load.",
    "ABI.NODE_MISSING": "A library is there, without the version node that an object needs.",
    "ABI.SYMBOL_MISSING": "A symbol that an object needs is in no library that it loads.",
    "ABI.UNDERLINKED": "An object uses functions of ROCm and names no library for them.",
    "ABI.OTHER_PYTHON": "An extension module was built for another Python than the one that imports it.",
    "ABI.NO_VERSIONS": "A library has no version table, where versions of it are wanted.",
    "ABI.WRONG_COPY": "Another copy of a library is taken than the one that an object comes with.",
    "ABI.TWO_COPIES": "One process loads two copies of a library that can be there only once.",
    "ABI.EXECUTABLE_STACK": "A library asks for an executable stack, which newer glibc refuses.",
    "ABI.CPU": "An object demands a newer CPU than the host has.",
    "ABI.SEARCH_PATH_OPEN": "An object looks for its libraries where anybody can put one.",
    "ABI.DAMAGED": "An ELF file is cut off, empty or inconsistent.",
    "ABI.UNREADABLE": "A file or directory cannot be read.",
    "ABI.NEEDS_PRELOAD": "A library is found only because its package loads it first.",
    "ABI.OPTIONAL_MISSING": "Something is missing that need not be there.",
    "ABI.HOST_SYMBOLS": "Plugins use symbols of the program that loads them.",
    "ABI.CHECKED": "So many ELF objects were checked, in that time.",
    "ABI.NO_GLIBC": "The system that was looked at has no glibc for x86-64.",
    "ABI.PASSED_OVER": "The loader passes over a file for another kind of machine.",
    # proofs
    "PROOF.NOT_PROVISIONED": "The host was not provisioned yet, so there is nothing to prove.",
    "PROOF.COMPILER_ABSENT": "The compiler that the stack pins is not on the host.",
    "PROOF.LIBCXX_ABSENT": "The pinned libc++ was not unpacked where it belongs.",
    "PROOF.ROCMINFO_ABSENT": "The stack's rocminfo is not on the host.",
    "PROOF.COMPILE_FAILED": "A proof program does not compile or link.",
    "PROOF.RUN_FAILED": "A proof program compiles but does not run as it must.",
    "PROOF.WRONG_LIBCXX": "Other headers or another shared object of the C++ library than the pinned ones were used.",
    "PROOF.NO_CODE_OBJECT": "hipcc's result holds no code object for the wanted gfx target.",
    "PROOF.PASSED": "A proof ran, or its result still holds because none of its inputs changed.",
    "VERIFY.PACKAGE_DIFFERS": "A package of the stack is absent or outside the stack's bounds.",
    "VERIFY.UPGRADE_WOULD_CHANGE": "A plain apt upgrade would change a package of the stack.",
    "VERIFY.UPGRADE_UNKNOWN": "What a plain apt upgrade would do cannot be found out.",
    "VERIFY.PASSED": "The stack's packages are within its bounds, and an upgrade would not change them.",
}
