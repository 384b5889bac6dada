"""`dialens engagement`: from Reddit dumps to a labelled dataset and trained models."""

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
)


@app.callback()
def root() -> None:
    """Learn engagement from how people react: read dumps, label posts, train and evaluate models.

    [bold]Examples[/]

      dialens engagement ingest RC_2006-01.bz2 RS_2006-01.bz2 -o work
      dialens engagement label work -o red
      dialens engagement train red -o model --encoder all-MiniLM-L6-v2
      dialens engagement evaluate model better.jsonl.gz
    """


app.command("ingest")(engagement_ingest.ingest)
app.command("label")(engagement_label.label)
app.command("negatives")(engagement_negatives.negatives)
app.command("ablate")(engagement_ablate.ablate_dimensions)
app.command("train")(engagement_train.train)
app.command("evaluate")(engagement_evaluate.evaluate)
