"""Files of ratings as other tools write them, each turned into one row a rating.

Knows shapes (wide, matrix, Qualtrics, Label Studio, Potato), what a cell says, and facts about
raters; `dialens.statistics.load_ratings` puts them together.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
