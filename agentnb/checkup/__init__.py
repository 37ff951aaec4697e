"""The doctor's other half: examines the environment that agents are used in."""
