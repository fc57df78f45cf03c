"""Thurstonian models: what workers perceive are normal draws about the true scores."""
