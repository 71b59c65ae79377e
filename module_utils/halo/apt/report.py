"""Explanations as findings, and as plain data beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..findings import Finding
from .explain import Chain, Explainer
from .model import Change
from .pinned import pinned_by
from .remedies import Attempt, Remedies, Tried
from .root import PrivateRoot
from .solve import Target, UnsolvableError
from .view import View
from .wishes import Wish

#: How many refused changes are explained by the solver; further ones have the plan's own reasons.
_MOST = 60


class Reporter:
    """Explains one plan, or why there is none.

    Args:
        root: The private root.
        view: The opened cache.
        targets: The wishes for installed packages.
        absent: The wishes for absent ones, by name.

    Attributes:
        explanations: What was explained so far, in the plain form that module ``apt_plan`` returns.
    """

    def __init__(self, root: PrivateRoot, view: View, targets: Sequence[Target], absent: Mapping[str, Wish]) -> None:
        self.explanations: list[dict[str, Any]] = []
        self._view = view
        self._targets = targets
        self._absent = absent
        self._explainer = Explainer(view, targets, absent, lambda name, priority: pinned_by(root, name, priority))
        self._chain: Chain | None = None

    def is_hopeless(self) -> bool:
        """Say whether the wishes exclude each other by the rules alone, so that apt can find no way."""
        self._chain = self._explainer.unsolvable()
        return self._chain is not None

    def unsolvable(self, error: UnsolvableError, installed: Iterable[str], attempt: Attempt) -> Finding:
        """Explain why there is no plan.

        Args:
            error: What apt says.
            installed: The names of the installed packages.
            attempt: Lets apt try a remedy.
        """
        packages = [package for package in map(self._view.package, installed) if package is not None]
        there = [package for package in packages if package.current_ver is not None]
        remedies = Remedies(self._view, self._explainer, self._targets, self._absent, there, attempt)
        tried = remedies.find(self._chain)
        lines = self._chain.lines if self._chain else (error.problem, *error.unmet)
        wished = [rule.package for rule in self._chain.rules if rule.kind == "wish"] if self._chain else []
        subject = ", ".join(dict.fromkeys(wished or [target.package.name for target in self._targets])) or "the wishes"
        self._note("APT.UNSOLVABLE", subject, self._chain, tried)
        advice = "; or\n".join(item.text() for item in tried) or self._untried()
        return Finding("APT.UNSOLVABLE", "error", subject, "\n".join(lines), advice)

    def forced(self, change: Change, permission: str) -> Sequence[str]:
        """Return what forces a change, a line a step, or nothing where another plan could do without it."""
        chain = self._explainer.forced(change, permission) if len(self.explanations) < _MOST else None
        if chain is None:
            return ()
        self._note(permission, change.name, chain, [])
        return chain.lines

    def _note(self, about: str, subject: str, chain: Chain | None, tried: Sequence[Tried]) -> None:
        self.explanations.append(
            {
                "about": about,
                "subject": subject,
                "steps": chain.as_list() if chain else [],
                "remedies": [item.as_dict() for item in tried],
            }
        )

    def _untried(self) -> str:
        """Say what to do where nothing that was tried helps."""
        rules = self._chain.rules if self._chain else ()
        needy = next((rule.package for rule in rules if rule.kind == "depends" and not rule.versions), "")
        package = self._view.package(needy) if needy else None
        if package is None:
            return "change the wishes, the pins or the sources so that these dependencies can be met"
        sources = {" ".join(filter(None, self._view.source(version))) for version in package.version_list}
        return (
            f"no source has what {needy} needs: see that its archive ({', '.join(sorted(sources))}) is the one for this"
            " release, or choose another stack; `./halo stacks` lists them"
        )
