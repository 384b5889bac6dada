"""How far raters agree, with an interval on every number, whatever the table looks like.

`measure_agreement` does a whole table of ratings. The statistics by themselves take a
`RatingMatrix`, items × raters with holes:

    table = RatingMatrix.of_array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, np.nan]])
    icc(table)["ICC(2,k)"].value
    krippendorff_alpha(table, "ordinal")
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
