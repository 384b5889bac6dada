"""One module a family of metrics, lexicon or neural alike, from tokens to signature."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
