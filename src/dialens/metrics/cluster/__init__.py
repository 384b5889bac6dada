"""Scoring on a Spark cluster: whole batches to Python workers, the same numbers as on one machine.

Spark reads the turns and hands them out; the engine of `dialens.metrics` scores them in Spark's
Python workers; each batch is left as a file in a folder that all machines see, and the driver
merges those in the order of the corpus.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
