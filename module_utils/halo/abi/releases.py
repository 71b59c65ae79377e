"""What is known of names: which release has a version node, which libraries go together, which may be absent.

Sources: libstdc++'s ABI history (gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html), glibc's Versions files, node names
of AMD's libamdhip64 and libhsa-runtime64 as in Debian 12 and 13 and wheels built for ROCm 6.2 to 10.1.
"""

from __future__ import annotations

import re
from functools import lru_cache

_GLIBCXX = {26: "9", 27: "9", 28: "9.3", 29: "11", 30: "12", 31: "13.1", 32: "13.2", 33: "14", 34: "15"}
_CXXABI = {12: "9", 13: "11", 14: "13", 15: "14", 16: "15"}

#: Libraries of a GPU's driver that no package brings; what uses them works without.
DRIVERS = re.compile(r"^lib(cuda|nvidia-ml|nvcuvid|nvidia-encode|nvoptix|ze_loader|OpenCL)\.so\.\d+$")
#: Builds of one library for several platforms, of which one is loaded.
VARIANT = re.compile(r"^(.+?)_?(cuda|rocm|hip|xpu|musa|npu|cpu|nocublaslt)[\w.]*?(\.so[\d.]*)$")
#: Helpers that nobody runs in production.
HELPER = re.compile(r"/(bin/test|tests?/|testing/|examples?/)[^/]*")
#: Function names of ROCm to the library that has them.
ROCM = (
    (re.compile(r"^hip(?!blas|sparse|solver|fft|rand|rtc|dnn|tensor)[A-Z_]|^__hip"), "libamdhip64"),
    (re.compile(r"^hsa_"), "libhsa-runtime64"),
    (re.compile(r"^hiprtc"), "libhiprtc"),
    (re.compile(r"^hipblas"), "libhipblas"),
    (re.compile(r"^rocblas_"), "librocblas"),
    (re.compile(r"^miopen[A-Z]"), "libMIOpen"),
    (re.compile(r"^amd_comgr_"), "libamd_comgr"),
    (re.compile(r"^(rsmi|amdsmi)_"), "librocm_smi64 or libamd_smi"),
)
#: What must not be in one process twice, nor beside another of the same kind: SONAMEs without number.
ONCE = {
    "libamdhip64": "the HIP runtime",
    "libhsa-runtime64": "the HSA runtime",
    "libamd_smi": "amd-smi",
    "librocm_smi64": "rocm-smi",
    "libLLVM": "LLVM",
    "libstdc++": "the GNU C++ library",
    "libgomp": "an OpenMP runtime",
    "libomp": "an OpenMP runtime",
    "libiomp5": "an OpenMP runtime",
}


@lru_cache(maxsize=4096)
def stem(name: str) -> str:
    """Return a SONAME without its number: ``libLLVM-15.so.1`` and ``libLLVM.so.18.1`` are both ``libLLVM``."""
    return re.sub(r"(-\d[\d.]*)?\.so.*$", "", name)


def origin(node: str) -> str:
    """Return which release brought a version node, empty where it is not known."""
    if found := re.fullmatch(r"GLIBC_(2\.\d+)(\.\d+)?", node):
        return f"glibc {found[1]}"
    if (found := re.fullmatch(r"GLIBCXX_3\.4\.(\d+)", node)) and int(found[1]) in _GLIBCXX:
        return f"libstdc++ of GCC {_GLIBCXX[int(found[1])]}"
    if (found := re.fullmatch(r"CXXABI_1\.3\.(\d+)", node)) and int(found[1]) in _CXXABI:
        return f"libstdc++ of GCC {_CXXABI[int(found[1])]}"
    if found := re.fullmatch(r"hip_(\d+\.\d+)", node):
        return f"ROCm {found[1]}"
    return ""


def number(node: str) -> tuple[str, tuple[int, ...]]:
    """Return a node's family and number, for telling which is newest: never for deciding whether one is there."""
    found = re.fullmatch(r"(.*?)_?(\d+(?:\.\d+)*)", node)
    return (found[1], tuple(map(int, found[2].split(".")))) if found else (node, ())


def newest(node: str, defined: frozenset[str]) -> str:
    """Return the newest node of the same family that a library has, empty where it has none."""
    family = number(node)[0]
    return max((other for other in defined if number(other)[0] == family), key=number, default="")


def rocm_library(names: frozenset[str]) -> str:
    """Return the ROCm library that names belong to, empty where they belong to none."""
    return next((library for pattern, library in ROCM if any(pattern.match(name) for name in names)), "")
