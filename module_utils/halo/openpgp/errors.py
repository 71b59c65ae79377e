"""What can be wrong with a file that should hold public keys, one type each."""

from __future__ import annotations


class OpenPgpError(ValueError):
    """The data is no readable OpenPGP public key; the message says what it is instead."""


class EmptyError(OpenPgpError):
    """Nothing at all, or white space."""


class TooLargeError(OpenPgpError):
    """More bytes than any archive's key has."""


class TruncatedError(OpenPgpError):
    """The data ends in the middle of a packet or of an armoured block."""


class HtmlError(OpenPgpError):
    """A web page: an error page, or the login page of a proxy."""


class SecretKeyError(OpenPgpError):
    """A secret key, which does not belong on a host and must not be copied around."""


class NotAKeyError(OpenPgpError):
    """Something else than public keys: a signature, a message, a keybox, text, an image."""


class DamagedError(OpenPgpError):
    """OpenPGP, but with a wrong checksum or fields that contradict each other."""
