"""Models of whole lists: Plackett-Luce and Mallows."""
