"""Weights & Biases: values as metrics of a run, and the table behind them."""

from collections.abc import Sequence
from typing import Any

from dialens.base import DialensError
from dialens.integrations._values import agent_rows, extra, tracked_values
from dialens.metrics import Scores


def log_to_wandb(
    scores: Scores, *, metrics: Sequence[str] | None = None, run: Any | None = None
) -> None:
    """Log the values of agents to a run of Weights & Biases, with the table `dialens/scores`.

    Args:
        scores: What `dialens.score` gives.
        metrics: Only these metrics or families.
        run: What `wandb.init` gave; the active one if not given.

    Raises:
        DialensError: No run is active.
    """
    with extra("wandb"):
        import wandb
    run = run or wandb.run
    if run is None:
        raise DialensError("No run of Weights & Biases is active. Begin one: wandb.init(project=…)")
    rows = agent_rows(scores, metrics)
    table = wandb.Table(columns=rows.columns, data=[list(row) for row in rows.iter_rows()])
    run.log({**tracked_values(scores, metrics), "dialens/scores": table})
