"""Everything of a folder in one place: what was found in it, and how it hangs together.

Finds corpora, scores, comparisons, studies and judges by their run records and manifests, and says
which of them are out of date. Reads `dialens.report` and what is below; knows nothing of pages,
which `dialens.web.workbench` makes of it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
