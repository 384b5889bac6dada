from ._folder import SHIPPED
from ._shape import Shape, TrainingPlan
from ._trained import open_agent
from ._training import Source, Trained, depends_on, read_beginning, require_training, train_agent

__all__ = [
    "SHIPPED",
    "Shape",
    "Source",
    "Trained",
    "TrainingPlan",
    "depends_on",
    "open_agent",
    "read_beginning",
    "require_training",
    "train_agent",
]
