"""`dialens agents`: one module a command."""
