"""The test archive: signed apt archives, built on the spot from the YAML descriptions in ``packages/``.

``python -m tests.archive build`` builds them, ``python -m tests.archive serve`` serves them, sound and broken. See
``README.md``.
"""
