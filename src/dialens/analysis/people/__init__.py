"""What people said: which agent they preferred, on which quality, and by how much."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
