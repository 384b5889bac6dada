from ._mlflow import log_to_mlflow
from ._values import tracked_values
from ._wandb import log_to_wandb

__all__ = [
    "log_to_mlflow",
    "log_to_wandb",
    "tracked_values",
]
