"""Methods of a validation, in paragraphs that may go into a paper, and the codebook."""

from collections.abc import Sequence

import polars as pl

from dialens.analysis.validation import Validation
from dialens.base import listed
from dialens.metrics import in_sentence


def family_size(table: pl.DataFrame) -> int:
    """How many tests of a table were corrected together.

    Examples:
        >>> family_size(pl.DataFrame({"family": [None, 7]}))
        7
    """
    families = table["family"].drop_nulls()
    return int(families[0]) if len(families) else 0


def _without(result: Validation) -> str:
    return f", without the references {listed(result.references)}" if result.references else ""


def methods(result: Validation, *, resamples: int, folds: int) -> list[str]:
    """Paragraphs that may go into a paper."""
    families = {
        name: family_size(table)
        for name, table in (
            ("correlations", result.correlations.filter("headline")),
            ("differences", result.differences),
            ("increments", result.increments),
        )
    }
    by = listed(sorted({str(one["clustered_by"]) for one in result.units}))
    p, a = (
        listed([in_sentence(result.labels[name]) for name in group]) or "none"
        for group in (result.groups.psychological, result.groups.automatic)
    )
    return [
        "Every metric was correlated with the mean human rating of each quality (Pearson, "
        "Spearman, Kendall’s tau-b) over the units that have both"
        f"{_without(result)}. Where units come from several agents, "
        "the coefficient within agents leads: Pearson’s with each agent’s means taken out, "
        "Spearman’s with ranks within agents, Kendall’s with pairs of one agent; pooled and "
        "between agents’ means stand beside it.",
        "Intervals are 95 % intervals on Fisher’s scale, with the standard error from "
        f"{resamples:,} resamples of clusters ({by}) for Pearson’s coefficient and from the "
        "clusters’ influence for the others, and never narrower than for as many independent "
        "units. P-values are of permutations (of the normal distribution that they have, for "
        "Kendall’s), within agents for coefficients within agents. As units of one cluster or "
        "agent are not independent, units are counted for as many independent ones as would "
        "scatter as much, from the covariances of both variables (Clifford, Richardson and Hémon "
        "1989). A variable of which fewer than five units differ from its most frequent value is "
        "not tested. P-values were corrected after Benjamini and Hochberg over the "
        f"{families['correlations']:,} leading correlations of one kind.",
        "Accuracy over agents is the share of pairs of agents whose mean score and mean rating "
        "have the same order (Kocmi et al. 2021; all pairs). Accuracy over units is acc*eq of "
        "Deutsch, Foster and Freitag (2023): the mean over contexts or dialogues of the share of "
        "pairs that metric and people order, or tie, alike, where scores no farther apart than ε "
        "count as a tie and ε is the one with the highest accuracy on these data.",
        "The ceiling is the reliability of the mean rating: the share of its variance over units "
        "that is not disagreement between raters. A correlation divided by its root is corrected "
        "for attenuation. Two metrics are compared by the difference of their absolute "
        "correlations with the same judgement on the same units (within agents where there are "
        "several), with intervals and p-values "
        f"from the same resamples, corrected over {families['differences']:,} comparisons; "
        "Williams’ t and Steiger’s z, which take units for independent, stand beside them.",
        f"Psychological metrics (P): {p}. Automatic metrics (A): {a}. After Giorgi et al. (2023) "
        "linear models of the standardised mean rating were fitted with A, P and both; shown is "
        "adjusted R². The absolute residuals of A and P+A were compared by paired t-tests, "
        f"corrected after Benjamini and Hochberg over {families['increments']:,} tests. As "
        "these models are judged on the units they were fitted to, R² was also computed under "
        f"{folds}-fold cross-validation by cluster, ten times with clusters dealt anew; its "
        "test compares one mean difference of absolute residuals a cluster.",
    ]


CODEBOOK: Sequence[tuple[str, str]] = (
    ("n, n_missing", "rated units with a value of the metric, and without; `missing` says why"),
    ("n_clusters", "clusters of units that were drawn together"),
    ("scope, headline", "within agents, pooled, or between their means; which of them leads"),
    ("n_effective", "how many independent units would scatter as much (Pearson)"),
    ("p_at_most", "whether Pearson’s p is the least that permutations can give: read ≤"),
    ("pearson, spearman, kendall", "coefficients; _low and _high end their 95 % intervals"),
    ("…_p, …_p_adjusted, family", "two-sided p, corrected p, how many tests it was corrected over"),
    ("ceiling, highest_r", "reliability of the mean rating, and its square root"),
    ("pearson_corrected", "Pearson’s coefficient divided by highest_r"),
    ("r_elsewhere", "r of the strongest metric on halves of the clusters that did not choose it"),
    ("system_accuracy", "share of pairs of agents in the same order by metric and people"),
    ("segment_accuracy, epsilon", "share of pairs of units in the same order or tied; acc*eq, ε"),
    ("ties", "share of pairs that people tie: the accuracy of a metric that ties everything"),
    ("difference", "|r_a| − |r_b| on the units that have both metrics"),
    ("r2_a, r2_p, r2_pa", "adjusted R² of the automatic, the psychological, and both"),
    ("t, p", "paired t-test of the absolute residuals of A and P+A; above 0: P+A is nearer"),
    ("cv_r2_a, cv_r2_p, cv_r2_pa", "R² on clusters not seen; negative: worse than the mean"),
    ("cv_p", "t-test over clusters of the absolute residuals not seen"),
)  # fmt: skip
"""What the columns of validation.json and the CSV files hold."""
