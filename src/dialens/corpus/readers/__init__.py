"""One module a format; each recognises its files and turns records into dialogues."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
