"""What every package needs: errors, storage, progress, run records, estimates, words for numbers.

Imports no other package of dialens.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
