"""Thurstonian models: workers perceive normal draws around the true scores."""
