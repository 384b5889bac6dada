"""`python -m dialens` is `dialens`."""

from dialens.cli import main

main()
