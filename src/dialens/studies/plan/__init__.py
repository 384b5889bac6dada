"""What a participant sees, screen by screen: a pure function of study, cell and seed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
