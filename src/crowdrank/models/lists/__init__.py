"""Models of ranked lists, and models whose objective is a measure of the whole list."""
