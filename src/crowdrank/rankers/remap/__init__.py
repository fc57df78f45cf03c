"""Remapping and reweighting: how much each label of a crowd is worth (Ustinovskiy et al. 2016)."""
