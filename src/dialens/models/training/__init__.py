"""Training of the models that ship (extra ``train``): each module is one step and one command."""
