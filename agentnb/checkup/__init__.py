"""The doctor's other half: what agents are used in. Versions, kernels, the front end, and the files that agentnb keeps.

Nothing of Jupyter is imported until it is asked for, and no Jupyter need be there.
"""
