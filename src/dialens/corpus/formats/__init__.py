"""The formats we read, one module each; `registry` lists them in the order they are sniffed."""
