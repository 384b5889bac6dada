"""How the reference values that ship were made: what people and public systems score."""
