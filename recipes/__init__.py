"""How the models and lexicons that ship were made: each module with a `main` is one step.

Run from the repository as `python -m recipes.NAME --help`. Not part of the installed package. What
is learned from Reddit is read from the folders that `dialens engagement` writes.
"""
