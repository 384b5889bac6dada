"""Training of the models that ship (extra ``train``): each module is one step and one command."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
