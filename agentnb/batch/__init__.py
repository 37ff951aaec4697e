"""One prompt over many inputs: :func:`agentnb.map` and :func:`agentnb.compare`.

Inputs become prompts (:mod:`~agentnb.batch.inputs`), each prompt a session of its own
(:mod:`~agentnb.batch.runner`), each answer a row in a file of the log's folder (:mod:`~agentnb.batch.records`), and the
rows a :class:`~agentnb.batch.batch.Batch`. What is kept in memory does not grow with the number of inputs.
"""
