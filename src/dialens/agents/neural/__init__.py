"""Agents that are trained here: Seq2Seq with attention, HRED and THRED.

Training (`train_agent` and what it builds on) is PyTorch and needs the extra `train`. Talking does
not: a trained agent is a folder of numbers that `open_agent` reads with NumPy, so the agents that
ship talk in the core environment. Nothing here is imported before it is asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
