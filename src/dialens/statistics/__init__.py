"""Pure statistics: resampling, corrections, correlation, mixed models, agreement, power.

Knows arrays and tables of ratings, nothing of metrics or studies; everything above may import it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
