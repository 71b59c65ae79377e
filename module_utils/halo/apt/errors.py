"""How a finding travels as an exception."""

from __future__ import annotations

from ..findings import Finding


class AptError(Exception):
    """Something that ends planning or executing, as the findings that say so.

    Attributes:
        findings: At least one of severity ``error``.
    """

    def __init__(self, *findings: Finding) -> None:
        super().__init__("; ".join(finding.evidence for finding in findings))
        self.findings = list(findings)


def fail(code: str, subject: str, evidence: str, remedy: str) -> AptError:
    """Return the exception for one error finding."""
    return AptError(Finding(code, "error", subject, evidence, remedy))
