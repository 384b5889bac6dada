"""Agents side by side: intervals and corrected tests from the dialogues' summed features."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
