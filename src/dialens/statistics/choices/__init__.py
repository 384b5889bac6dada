"""Choices between candidates: Bradley–Terry, Plackett–Luce, best–worst scores, win matrices.

One answer of one person is one observation, however many candidates it is about.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
