"""Simulated users: language models that play people with a goal, from scenario files.

Scenarios are read by `read_pack`, those that ship by their pack's name. A `SimulatedUser` is an
agent like others; collections take one as a partner.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
