"""The families there are, in the order in which they are listed."""

from dialens.metrics._family import Family
from dialens.metrics.automatic import (
    bart_score,
    bert_score,
    bleurt,
    dialog_rpt,
    embedding,
    fed,
    mauve,
    meteor,
    overlap,
    perplexity,
    pred_en,
    prism,
    usl_h,
)

FAMILIES: tuple[Family, ...] = (
    *overlap.FAMILIES,
    meteor.FAMILY,
    embedding.FAMILY,
    bert_score.FAMILY,
    mauve.FAMILY,
    bart_score.FAMILY,
    bleurt.FAMILY,
    prism.FAMILY,
    *dialog_rpt.FAMILIES,
    *usl_h.FAMILIES,
    *pred_en.FAMILIES,
    perplexity.FAMILY,
    fed.FAMILY,
)
"""All of them; the registry makes metrics of their outputs."""
