"""What `benchmarks/inference.py` simulates: one module a part, each with `lines(runs, seed)`."""
