"""The tables that say what people thought of agents, whatever kind of answer they gave."""

import polars as pl

AGENTS = pl.Schema(
    {
        "quality": pl.String,
        "scale": pl.String,
        "agent": pl.String,
        "n": pl.Int64,
        "n_raters": pl.Int64,
        "n_items": pl.Int64,
        "mean": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "unit": pl.String,
        "rank": pl.Int64,
        "rank_low": pl.Int64,
        "rank_high": pl.Int64,
        "method": pl.String,
        "reason": pl.String,
    }
)
"""One row an agent and quality. `scale` is the kind of answer (`likert`, `slider`, `magnitude`,
`yes_no`, `choice`, `pairwise`, `best_worst`, `ranking`, `unknown`); `n` counts judgements, each
choice between candidates once. `mean` is in `unit`: `points` of the scale, `share` (of yes, of
duels won), `magnitude` (a geometric mean), `score` (best minus worst). Rank 1 is the best;
`rank_low` to `rank_high` is its 95 % interval. `method` says where the interval comes from,
`reason` why something is missing."""

AGENT_DIFFERENCES = pl.Schema(
    {
        "quality": pl.String,
        "scale": pl.String,
        "first": pl.String,
        "second": pl.String,
        "difference": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "unit": pl.String,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
        "effect_size": pl.Float64,
        "effect_low": pl.Float64,
        "effect_high": pl.Float64,
        "effect": pl.String,
        "p_equivalence": pl.Float64,
        "n_raters": pl.Int64,
        "n_items": pl.Int64,
        "method": pl.String,
        "reason": pl.String,
    }
)
"""One row a pair of agents and quality: `first` minus `second`, in `unit` (for magnitudes the
ratio, for choices the log-odds that `first` wins). `effect` names the effect size: `d`, `log odds`,
`win probability`. `p_adjusted` is corrected over all pairs and qualities (`family` is how many);
`p_equivalence` tests that the difference is smaller than the smallest interesting one."""

DISTRIBUTIONS = pl.Schema(
    {
        "quality": pl.String,
        "agent": pl.String,
        "answer": pl.String,
        "n": pl.Int64,
        "share": pl.Float64,
    }
)
"""One row an answer of an agent and quality: how often it was given."""

WINS = pl.Schema(
    {
        "quality": pl.String,
        "first": pl.String,
        "second": pl.String,
        "n": pl.Int64,
        "wins": pl.Int64,
        "ties": pl.Int64,
        "losses": pl.Int64,
    }
)
"""One row a pair of agents that were chosen between: how often `first` won, tied and lost."""
