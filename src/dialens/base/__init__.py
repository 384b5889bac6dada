"""What every room needs: errors, storage, progress, run records, estimates, words for numbers.

Imports no other room.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
