"""`dialens engagement`: one module a command."""
