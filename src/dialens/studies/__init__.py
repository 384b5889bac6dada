"""Human evaluation: studies declared in a file, planned screen by screen, stored and exported.

`load_study` reads a study file and its items, `plan` says what a participant sees, `instruments`
are the ways to ask, `rating_rows` turns answers into rows, `store` keeps them, `export` writes
them. Pages, commands and analyses are above (`dialens.web`, `dialens.cli`, `dialens.analysis`):
nothing here imports them. Needs the extra `studies`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
