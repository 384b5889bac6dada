"""`python -m dialens` is `dialens`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C is answered in one line while that is being loaded, too."""
    try:
        from dialens.cli import main as run

        run()
    except KeyboardInterrupt:
        print("Interrupted. Nothing was left half written.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
