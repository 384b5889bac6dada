"""The pages of `dialens open`: everything of a folder, in the browser, on one's own machine.

Each page is a module with a function `routes`, named in `_app.ROUTERS`; what they share is the
`Desk`. What they show comes from `dialens.workbench`. Needs the extra `studies`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
