"""The command line: one module a command, nothing in them but arguments and printing."""

from dialens.cli.app import main

__all__ = ["main"]
