"""Biases of a rating study: what the design, the session and the raters themselves did.

`read_study` reads an export, `analyse_study` computes everything; the modules can be used alone.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
