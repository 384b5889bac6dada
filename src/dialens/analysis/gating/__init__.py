"""The gate: rules that a run has to keep against a baseline, decided on intervals.

May import comparison, metrics and everything below; the command, the test helper and the files for
build servers build on it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
