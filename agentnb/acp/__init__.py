"""The client side of the Agent Client Protocol: connection, agent, services for the agent, and the mapper.

ACP's words end here: what leaves upwards are actions (:mod:`agentnb.state`) and typed questions, what enters are typed
requests.
"""
