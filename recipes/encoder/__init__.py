"""The encoder with a head for each task: teachers, students taught by them, figures, cards."""
