"""Graphics cards of a cluster: whether its workers have some, and which one a worker takes.

Workers with and without a card would compute in different arithmetic, and the result would depend
on who scored what. So all of them use one or none does, which is decided before the plan is made:
by Spark's own way of saying that every executor has a card. Spark then starts none without.
"""

import os
from typing import Any

from dialens.base import spark_defaults

_A_CARD_EACH = "spark.executor.resource.gpu.amount"
_VISIBLE = "CUDA_VISIBLE_DEVICES"


def workers_device(master: str, wanted: str) -> str:
    """Where models compute on a cluster: `auto` only where driver and workers are one machine.

    Args:
        master: Of Spark.
        wanted: `auto`, `cpu` or `cuda`.

    Examples:
        >>> workers_device("local[2]", "auto"), workers_device("spark://host:7077", "cuda")
        ('auto', 'cuda')
    """
    if wanted != "auto" or master.startswith("local"):
        return wanted
    return "cuda" if spark_defaults().get(_A_CARD_EACH, "0") != "0" else "cpu"


def take_assigned_card(task: Any) -> None:
    """Let this process see only the card that Spark gave to its task, before PyTorch looks."""
    assigned = task.resources().get("gpu") if task is not None else None
    if assigned is not None and assigned.addresses:
        os.environ[_VISIBLE] = assigned.addresses[0]
