"""The next question to ask: pure functions of what is known, of a policy and of what was asked."""
