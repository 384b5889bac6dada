"""What `benchmarks/scale.py` measures: one module a part, each with `main(arguments)`."""
