"""What an agent may do: its permission requests and ours, answered by the policy or by the user."""
