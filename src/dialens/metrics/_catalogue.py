"""The families there are, in the order in which they are listed."""

from dialens.metrics._family import Family
from dialens.metrics.families import _bart_score as bart_score
from dialens.metrics.families import _bert_score as bert_score
from dialens.metrics.families import _bleurt as bleurt
from dialens.metrics.families import _dialog_rpt as dialog_rpt
from dialens.metrics.families import _embedding as embedding
from dialens.metrics.families import _fed as fed
from dialens.metrics.families import _mauve as mauve
from dialens.metrics.families import _meteor as meteor
from dialens.metrics.families import _overlap as overlap
from dialens.metrics.families import _perplexity as perplexity
from dialens.metrics.families import _pred_en as pred_en
from dialens.metrics.families import _prism as prism
from dialens.metrics.families import _usl_h as usl_h

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
