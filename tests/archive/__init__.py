"""The test archive: signed apt archives, built on the spot from the YAML descriptions in ``packages/``.

``python -m tests.archive build --out DIR`` builds them, ``python -m tests.archive serve --out DIR`` serves them, the sound
ones and the broken. See ``README.md``.
"""
