"""Simulated participants, to try a study and its analysis before anyone is paid."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
