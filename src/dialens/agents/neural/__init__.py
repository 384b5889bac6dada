"""Agents that are trained here: Seq2Seq with attention, HRED and THRED.

Training (`fit`, `seq2seq`, `hred`, `thred` and what they build on) is PyTorch and needs the extra
`train`. Talking does not: a trained agent is a folder of numbers that
:class:`~dialens.agents.neural.trained.TrainedAgent` reads with NumPy, so the agents that ship talk
in the core environment. Nothing here is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dialens.agents.agent import AgentSpec

if TYPE_CHECKING:
    from dialens.agents.neural.trained import TrainedAgent

__all__ = ["open_agent"]


def open_agent(spec: AgentSpec) -> TrainedAgent:
    """The trained agent that a spec asks for; see :func:`dialens.agents.neural.trained.open_agent`.

    Examples:
        >>> open_agent(AgentSpec("hred", "no-such-folder"))
        Traceback (most recent call last):
        ...
        dialens.errors.DialensError: no-such-folder/card.json cannot be read ...
    """
    from dialens.agents.neural.trained import open_agent as opened

    return opened(spec)
