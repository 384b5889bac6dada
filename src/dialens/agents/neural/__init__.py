"""Agents that are trained here: Seq2Seq with attention, HRED and THRED.

Training (`fit`, `seq2seq`, `hred`, `thred` and what they build on) is PyTorch and needs the extra
`train`. Talking does not: a trained agent is a folder of numbers that
:class:`~dialens.agents.neural.trained.TrainedAgent` reads with NumPy, so the agents that ship talk
in the core environment. Nothing here is imported before it is asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
