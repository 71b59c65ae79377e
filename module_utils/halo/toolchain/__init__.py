"""A libc++ unpacked beside the system's, so that two majors live side by side and nothing is replaced.

``<prefix>/<name>-<hash>`` is a store, made whole or not at all and never changed afterwards; ``<prefix>/<name>`` is a
link to the current one. Older stores stay: programs that were linked against them load their libraries from there.
"""
