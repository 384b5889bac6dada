"""`dialens study`: one module a command."""
