"""What every room needs: errors, storage, progress, run records, estimates, words for numbers."""
