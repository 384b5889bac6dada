"""What items really are, from several raters who err: Dawid and Skene's model, MACE, the majority.

Each takes a table with the columns item, rater and label and gives a `LabelFit`: the label of
every item with its probability, and how far each rater is to be trusted.

    fit = dawid_skene(ratings)
    fit.items, fit.raters, fit.confusion
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
