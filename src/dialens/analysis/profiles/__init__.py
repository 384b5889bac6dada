"""What an agent is like: traits, states and matching, with what is stable and what varies."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
