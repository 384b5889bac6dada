"""The command line: one module a command, nothing in them but arguments and printing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
