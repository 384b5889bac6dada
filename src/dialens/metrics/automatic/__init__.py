"""The automatic metrics of the field: overlap, embeddings, learned scorers, one contract for all.

A module a family. `family.py` says what a family declares and what its scorer does; the registry
makes ordinary metrics of them, so that they stand in the same tables as all others.
"""
