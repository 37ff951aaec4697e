"""Verification: does a notebook still run from the top, and is the result the one that it shows?"""
