"""The settings: one table, where each value comes from, and how it is changed.

Everything else is made from the table: the traits of ``%config Agentnb``, the settings page, ``agentnb settings``, the
reference and JupyterLab's schema.
"""
