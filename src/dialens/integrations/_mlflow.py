"""MLflow: values as metrics of a run, the table behind them as a file of it."""

from collections.abc import Sequence

from dialens.base import for_spreadsheet
from dialens.integrations._values import agent_rows, extra, tracked_values
from dialens.metrics import Scores


def log_to_mlflow(scores: Scores, *, metrics: Sequence[str] | None = None) -> None:
    """Log the values of agents to the active run of MLflow, or to a new one.

    Beside the metrics, the run gets the file `dialens/scores.csv`: every value with the number of
    turns behind it, its signature, and the reason if it is missing.

    Args:
        scores: What `dialens.score` gives.
        metrics: Only these metrics or families.
    """
    with extra("mlflow"):
        import mlflow
    mlflow.log_metrics(tracked_values(scores, metrics))
    sheet = for_spreadsheet(agent_rows(scores, metrics)).write_csv()
    mlflow.log_text(sheet, "dialens/scores.csv")
