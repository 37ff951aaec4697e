"""Between kernel and page: the widget models, the clients, and what each of them is sent."""
