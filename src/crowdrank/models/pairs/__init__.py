"""Models of pairwise votes: a score for each item, and a link from score differences to wins."""
