"""`dialens engagement`: from Reddit dumps to a labelled dataset, and what is made of it."""

import typer

from dialens.cli import (
    engagement_ablate,
    engagement_evaluate,
    engagement_ingest,
    engagement_label,
    engagement_negatives,
    engagement_train,
)

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Engagement learned from how people react: dumps, labels, models.",
)


@app.callback()
def root() -> None:
    """Engagement learned from how people react: dumps, labels, models."""


app.command("ingest")(engagement_ingest.ingest)
app.command("label")(engagement_label.label)
app.command("negatives")(engagement_negatives.negatives)
app.command("ablate")(engagement_ablate.ablate_dimensions)
app.command("train")(engagement_train.train)
app.command("evaluate")(engagement_evaluate.evaluate)
