"""Findings for what Ansible itself refuses: a host that does not answer, a variable of a wrong type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .findings import Finding

#: What ssh says -> what to do; the first that matches counts.
_SSH = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "if it was installed anew: ssh-keygen -R {at}, then ssh {at} once, and compare its new key",
    ),
    ("Host key verification failed", "ssh {at} once, and compare the fingerprint before you say yes"),
    (
        "Permission denied",
        "ssh-copy-id USER@{at} brings it your key; -u USER, or ansible_user in the inventory, names the user",
    ),
    ("Could not resolve hostname", "correct the name in the inventory, or set its address there: ansible_host"),
    (
        "Connection refused",
        "apt-get install openssh-server there; if it listens on another port, set ansible_port in the inventory",
    ),
    (
        "timed out|No route to host|Network is unreachable",
        "ping {at}; see that the host is on, and that this is its address: ansible_host in the inventory",
    ),
    (
        "closed by|reset by peer|Broken pipe|Shared connection",
        "run again once ssh {at} works; what was begun there may still be running, and the next run says so",
    ),
)
_ANY = "ssh -v {at} shows how far it gets; then run again"

_WANTED = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "list": "a list",
    "dict": "a mapping",
    "path": "a path",
}
_LITERAL = {"bool": "true", "int": "1", "float": "1", "list": "[...]", "dict": "{...}"}
# Ansible's own classes, after it has said the type in words.
_CLASS = re.compile(r": <class '[^']*'> cannot be converted to an? \w+$")
_TAKEN = re.compile(r"\s*\{\{\s*(halo_\w+)\s*\}\}\s*")


def unreachable(host: str, address: str, message: str) -> Finding:
    """Return the finding about a host that does not answer.

    Args:
        host: Its name in the inventory.
        address: What ssh connects to.
        message: What Ansible said, with ssh's words in it.
    """
    advice = next((advice for words, advice in _SSH if re.search(words, message, re.IGNORECASE)), _ANY)
    evidence = message.strip() or "no answer, and no reason"
    return Finding("HOST.UNREACHABLE", "error", host, evidence, advice.format(at=address))


def variables(messages: Iterable[str], spec: Mapping[str, Any], roles: Iterable[str]) -> list[Finding]:
    """Return a finding for each variable that Ansible refuses.

    Args:
        messages: What ansible.builtin.validate_argument_spec says, a variable each.
        spec: The options of ``argument_specs.yml`` that were checked, those of several roles where they were joined.
        roles: The names of the roles; one that a variable's name begins with owns it.
    """
    longest_first = sorted(roles, key=len, reverse=True)
    found = []
    for message in (_CLASS.sub("", message) for message in messages):
        name = next((word for word in re.findall(r"\w+", message) if word in spec), "a variable")
        role = next((role for role in longest_first if name.startswith(f"{role}_")), "")
        option = spec.get(name) or {}
        taken = _TAKEN.fullmatch(str(option.get("default", "")))
        evidence = f"{message}; a variable of role {role}" if role else message
        page = f"roles/{role}/README.md" if role else "docs/using.md"
        remedy = f"{_correct(name, taken[1] if taken else '', option)}; {page} says what it is for"
        found.append(Finding("VARIABLE.INVALID", "error", name, evidence, remedy))
    return found


def _correct(name: str, taken: str, option: Mapping[str, Any]) -> str:
    kind = str(option.get("type", "str"))
    choices = option.get("choices")
    wanted = f"one of {', '.join(map(str, choices))}" if choices else _WANTED.get(kind, "a text")
    if kind == "list" and option.get("elements"):
        wanted += f" of {option['elements']}"
    # As -e NAME=VALUE everything would be a text.
    literal = _LITERAL.get(kind, f'"{choices[0]}"' if choices else '"..."')
    it = f"it, or {taken} that it takes otherwise," if taken else "it"
    return f"""set {it} to {wanted}, in the inventory or as -e '{{"{name}": {literal}}}'"""
