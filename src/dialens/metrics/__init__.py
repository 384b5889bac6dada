"""Metrics: one module a family, one registry, one engine that scores every level in one pass.

May import `models` and what is below it; `analysis` and `report` build on what it gives.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
