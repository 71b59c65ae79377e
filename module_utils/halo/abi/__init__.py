"""Whether ELF objects load: read as they are, resolved as ld.so does, without running anything.

Only x86-64 little-endian ELF with glibc is judged; everything else is counted and left alone. Sources: the ELF and
x86-64 psABI specifications; ``dl-load.c``, ``dl-lookup.c``, ``dl-version.c`` and ``dl-cache.c`` of glibc's ``elf``.
"""
