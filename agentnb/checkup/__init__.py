"""The doctor's other half: what agents are used in."""
