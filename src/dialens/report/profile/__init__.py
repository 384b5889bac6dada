"""The report's sections on an agent's character: traits, states, matching."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
