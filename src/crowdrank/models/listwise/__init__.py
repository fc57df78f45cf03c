"""Models whose objective is a measure of the whole list."""
