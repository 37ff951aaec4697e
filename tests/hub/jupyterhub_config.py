"""The configuration of the hub under test: two users, the dummy authenticator, separate processes for each user.

The hub runs it. With root's rights each user has a separate user id; without them all share ours, with separate homes.
"""

import json
import os
from typing import Any

from jupyterhub.spawner import SimpleLocalProcessSpawner  # type: ignore[import-not-found,unused-ignore]

SETTINGS = json.loads(os.environ["AGENTNB_HUB"])


class OwnUser(SimpleLocalProcessSpawner):  # type: ignore[misc]
    """Starts a user's server as that user."""

    def make_preexec_fn(self, name: str) -> Any:
        home, uid = SETTINGS["homes"][name], SETTINGS["uids"].get(name)

        def become() -> None:
            if uid is not None:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
            os.chdir(home)

        return become

    def user_env(self, env: dict[str, str]) -> dict[str, str]:
        home = SETTINGS["homes"][self.user.name]
        return {**env, "USER": self.user.name, "HOME": home, "SHELL": "/bin/sh"}

    async def move_certs(self, paths: Any) -> Any:
        return paths


c = get_config()  # type: ignore[name-defined] # noqa: F821 - the hub has it
c.JupyterHub.bind_url = f"http://127.0.0.1:{SETTINGS['port']}/team/"
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{SETTINGS['hub_port']}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{SETTINGS['proxy_port']}"
c.ConfigurableHTTPProxy.command = [SETTINGS["proxy"]]
c.ConfigurableHTTPProxy.pid_file = f"{SETTINGS['folder']}/proxy.pid"
c.ConfigurableHTTPProxy.auth_token = SETTINGS["token"]
c.JupyterHub.cleanup_servers = False
c.JupyterHub.cleanup_proxy = False
c.JupyterHub.db_url = f"sqlite:///{SETTINGS['folder']}/hub.sqlite"
c.JupyterHub.cookie_secret_file = f"{SETTINGS['folder']}/cookie_secret"
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = SETTINGS["token"]
c.Authenticator.allowed_users = set(SETTINGS["homes"])
c.JupyterHub.spawner_class = OwnUser
c.Spawner.cmd = SETTINGS["singleuser"]
c.Spawner.args = SETTINGS["arguments"]
c.Spawner.environment = SETTINGS["environment"]
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = c.Spawner.http_timeout = 300
c.JupyterHub.services = [{"name": "tests", "api_token": SETTINGS["token"]}]
c.JupyterHub.load_roles = [
    {"name": "tests", "services": ["tests"], "scopes": ["admin:users", "admin:servers", "tokens", "read:users"]}
]
