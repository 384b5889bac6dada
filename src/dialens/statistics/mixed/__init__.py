"""Linear mixed models with crossed random effects, by REML, with Satterthwaite's t-tests."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
