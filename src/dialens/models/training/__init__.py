"""Training of encoders (extra ``train``): network, loop, negatives, and export to ONNX.

How the models that ship were trained is in ``recipes/``, beside the package.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
