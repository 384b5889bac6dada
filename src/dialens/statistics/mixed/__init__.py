"""Linear, ordinal and binomial mixed models with crossed random effects."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
