"""Human evaluation: studies declared in a file, planned screen by screen, kept and exported.

`study` reads a study file and its items, `flow` plans what a participant sees, `instruments` are
the ways to ask, `judgements` turns answers into rows, `store` keeps them. Pages and commands live
above (`dialens.web`, `dialens.cli`), statistics too: nothing here imports them. Needs the extra
`studies`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
