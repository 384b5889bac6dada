"""Scores in the tools that people track their experiments with: MLflow, Weights & Biases.

Each is an extra (`dialens[mlflow]`, `dialens[wandb]`) and imported when it is called.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
