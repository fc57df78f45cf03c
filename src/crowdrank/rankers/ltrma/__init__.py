"""LTRMA: a ranker and the expertise of several annotators, learned together from their lists."""
