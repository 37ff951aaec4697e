"""Another host, seen from this kernel: its conversations in a chat here, over the Agent Host Protocol.

`host_client` speaks to it and connects again; `mirrored_host` keeps its states as channels of this kernel, which pages
follow as they follow ours; `page_service` answers those pages.
"""
