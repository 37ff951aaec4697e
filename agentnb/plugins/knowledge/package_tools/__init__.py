"""Tools that installed packages bring for agents: functions that entry points name, and scripts of skills."""
