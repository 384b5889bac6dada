"""`dialens engagement`: from Reddit dumps to a labelled dataset, and what is made of it."""

from dialens.cli._lazy import lazy_app

app = lazy_app(
    "Engagement learned from how people react: dumps, labels, models.",
    {
        "ingest": (
            "dialens.cli.engagement._ingest:ingest",
            "Read Reddit dumps, once, into the tables that [bold]label[/] works on.",
        ),
        "label": (
            "dialens.cli.engagement._label:label",
            "Label posts by how people reacted to them.",
        ),
        "negatives": (
            "dialens.cli.engagement._negatives:negatives",
            "Mix negatives made by rule into class 0 (EnDex+NS).",
        ),
        "ablate": (
            "dialens.cli.engagement._ablate:ablate_dimensions",
            "Pick the positives by one dimension alone, against the same negatives.",
        ),
        "train": (
            "dialens.cli.engagement._train:train",
            "Train models of engagement and export the best (extra `train`).",
        ),
        "evaluate": (
            "dialens.cli.engagement._evaluate:evaluate",
            "Hold a model of engagement against human ratings, beside baselines.",
        ),
    },
    add_completion=False,
)
