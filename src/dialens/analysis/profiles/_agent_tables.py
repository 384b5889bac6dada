"""The tables of an agent's profile: what their columns hold, and why a row may be empty."""

import polars as pl

ALL_EMOTIONS = "emotions"
ALL_EMOTIONS_CLASSIFIER = "emotions_classifier"
"""States that stand for several: their variances are added."""

NO_TURN = "no turn has a value"
ONE_TURN = "no dialogue has two turns with a value"
ONE_DIALOG = "no agent has two dialogues with a value"
ALIKE = "all turns are alike"

DRIFT = pl.Schema(
    {
        "system": pl.String,
        "agent": pl.String,
        "trait": pl.String,
        "drift": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "share": pl.Float64,
        "share_high": pl.Float64,
        "expected": pl.Float64,
        "sd_agents": pl.Float64,
        "f": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "n_dialogs": pl.Int64,
        "n_turns": pl.Int64,
        "reason": pl.String,
    }
)
"""`drift` is the standard deviation of an agent's dialogues with the noise of turns taken off;
`share` is what it makes of the variance of turns, `share_high` the same at its upper end, and
`expected` the spread that turns alone would give to the means of dialogues. `sd_agents` is how far
the agents it is compared with differ, on the same scale: single turns are scored more cautiously
than whole dialogues. Rows without an agent are of all agents, each around its own mean;
`p_adjusted` is corrected over the others."""

STATES = pl.Schema(
    {
        "system": pl.String,
        "agent": pl.String,
        "state": pl.String,
        "sd_within": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "sd_between": pl.Float64,
        "share": pl.Float64,
        "share_low": pl.Float64,
        "share_high": pl.Float64,
        "n_dialogs": pl.Int64,
        "n_turns": pl.Int64,
        "reason": pl.String,
    }
)
"""Standard deviations within dialogues and between them; `share` is that of the variance of turns
which lies within. Rows without an agent are of all agents, each around its own mean."""

MATCHES = pl.Schema(
    {
        "system": pl.String,
        "agent": pl.String,
        "metric": pl.String,
        "match": pl.Float64,
        "others": pl.Float64,
        "excess": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "n_dialogs": pl.Int64,
        "reason": pl.String,
    }
)
"""`match` with its own partners, `others` with those of its other dialogues; the interval is that
of `excess`, their difference; `p_adjusted` is corrected over the agents of each metric."""
