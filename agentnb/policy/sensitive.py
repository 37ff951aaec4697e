"""Sensitive files: those that hold secrets, and those that decide what is run later."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import TypeAlias

from agentnb.policy.glob import any_path_matches, path_matches
from agentnb.policy.severity import Risk, Severity

Patterns: TypeAlias = Mapping[str, bool]
"""Path patterns, in order; True if a match of the pattern is sensitive."""

_SECRETS = (
    "**/.env*",
    "**/*.{pem,key,pfx,p12,jks,keystore,kdbx,ppk,asc,gpg}",
    "**/*secret*",
    "**/*secret*/**",
    "**/*credential*",
    "**/{id_rsa,id_dsa,id_ecdsa,id_ed25519,id_ecdsa_sk,id_ed25519_sk,identity}",
    "**/.{ssh,gnupg,aws,azure,kube,docker,password-store}/**",
    "**/.config/{gcloud,gh,hub,op}/**",
    "**/{.npmrc,.yarnrc,.yarnrc.yml,.pypirc,.netrc,_netrc,.pgpass,.my.cnf,.htpasswd,.dockercfg,.boto,.s3cfg}",
    "**/{.git-credentials,.vault-token,.terraformrc,.databrickscfg,kaggle.json,shadow,gshadow,sudoers}",
    "**/.git/{config,credentials}",
    "**/.{ssh,gnupg,aws,azure,kube,docker,password-store}",
    "**/proc/*/{environ,mem,auxv}",
    "**/proc/*/task/*/{environ,mem,auxv}",
    "**/proc/kcore",
    "**/.{bash,zsh,python,psql,mysql,sqlite,node_repl}_history",
    "**/{terraform.tfstate,*.tfvars,jupyter_server_config.json,jpserver-*.json,kernel-*.json,nbserver-*.json}",
)
_STARTUP = (
    "**/.{bashrc,bash_profile,bash_login,bash_logout,bash_aliases,profile,zshrc,zshenv,zprofile,zlogin,zlogout,kshrc}",
    "**/.{cshrc,tcshrc,login,inputrc,xprofile,xinitrc,xsessionrc,pythonrc,pythonrc.py,Rprofile,Renviron}",
    "**/.config/{fish,autostart,systemd}/**",
    "**/.{ipython,jupyter}/**",
    "**/{sitecustomize.py,usercustomize.py,*.pth}",
    "**/{crontab,authorized_keys,known_hosts}",
)
_RUNS_LATER = (
    "**/.git",
    "**/.git/**",
    "**/{.gitmodules,.gitattributes,.gitconfig}",
    "**/.{husky,githooks}/**",
    "**/.pre-commit-config.{yaml,yml}",
    "**/.vscode/**",
    "**/.idea/**",
    "**/.{devcontainer,claude,cursor,gemini,codex,opencode,agentnb}/**",
    "**/agentnb/{policy,settings,local}.toml",
    "**/agentnb/agents/*.toml",
    "**/{conftest.py,pip.conf,pip.ini,.condarc,.pdbrc,.pdbrc.py,.gdbinit,.lldbinit,.vimrc,.exrc,.nvimrc,.curlrc,.wgetrc}",
    "**/{.tmux.conf,.screenrc,.lesskey,.forward,.mailcap,.mise.toml,lefthook.yml,lefthook-local.yml,.xonshrc}",
    "**/{cron.d,cron.daily,cron.hourly,cron.weekly,cron.monthly,init.d,LaunchAgents,LaunchDaemons,autostart}/**",
    "**/.mcp.json",
    "**/package.json",
    "**/package-lock.json",
    "**/yarn.lock",
    "**/pnpm-lock.yaml",
    "**/{tsconfig,jsconfig}.json",
    "**/{Dockerfile,Containerfile}",
    "**/docker-compose*.{yml,yaml}",
    "**/.github/{workflows,actions}/**",
    "**/{.gitlab-ci.yml,Jenkinsfile,.travis.yml,azure-pipelines.yml}",
    "**/{.circleci,.buildkite,.gitea,.forgejo}/**",
    "**/{bitbucket-pipelines.yml,.drone.yml,.woodpecker.yml}",
    "**/{.bazelrc,.pnpmfile.cjs,.pnp.cjs,.sqliterc,.psqlrc,.duckdbrc,.mongoshrc.js,.irbrc,.octaverc,.envrc,.direnvrc,.asdfrc}",
    "**/.cargo/config{,.toml}",
    "**/{.yarn,.mvn,.bundle,.gradle,.mise}/**",
    "**/.config/{pip,uv,pypoetry,pdm,conda,git,nvim,direnv}/**",
    "**/{uv,poetry}.toml",
    "**/.local/{bin,share/jupyter}/**",
    "**/.julia/config/**",
    "**/.ipynb_checkpoints",
    "**/.ipynb_checkpoints/**",
)
_HOLD_SECRETS = (*_SECRETS, *_STARTUP[:2])
_HOLD_NONE = ("**/*.pub", "**/.env.{example,sample,template}")

SENSITIVE: Patterns = {
    **dict.fromkeys(("**/*",), False),
    **dict.fromkeys((*_SECRETS, *_STARTUP, *_RUNS_LATER), True),
    **dict.fromkeys(("**/id_*.pub",), False),
}
"""The patterns that apply unless the settings add to them."""

_WINDOWS = re.compile(r"^[A-Za-z]:[\\/]")


def spelled(path: str) -> str:
    """Returns *path* as patterns see it: with slashes, and without a leading drive, ``.`` or ``..``."""
    if _WINDOWS.match(path):
        path = path[2:]
    path = posixpath.normpath(path.replace("\\", "/"))
    while path.startswith("../"):
        path = path[3:]
    return path.rstrip(" .") or path  # as on Windows, where both names mean the same file


def sensitive_pattern(path: str, patterns: Patterns = SENSITIVE) -> str | None:
    spelling = spelled(path)
    if not any_path_matches(tuple(each for each, sensitive in patterns.items() if sensitive), spelling):
        return None
    last = next((each for each in reversed(list(patterns)) if path_matches(each, spelling)), None)
    return last if last is not None and patterns[last] else None


def holds_secrets(path: str) -> bool:
    """True if the content of *path* is likely to be secret, so that reading it matters as well."""
    spelling = spelled(path)
    return any_path_matches(_HOLD_SECRETS, spelling) and not any_path_matches(_HOLD_NONE, spelling)


def secret_pattern(path: str, patterns: Patterns = SENSITIVE) -> str | None:
    """Returns the pattern that makes reading *path* matter: it may hold secrets, or the settings name it; else None."""
    pattern = sensitive_pattern(path, patterns)
    return pattern if pattern is not None and (pattern not in SENSITIVE or holds_secrets(path)) else None


def rate_file(path: str, patterns: Patterns, about: str) -> Risk:
    """Returns the risk of changing *path*; *about* describes it if it is nothing worse."""
    why = "A file that may hold secrets."
    if any_path_matches((*_SECRETS, "**/authorized_keys"), spelled(path)):
        severity: Severity = "critical"
    elif any_path_matches((*_STARTUP, *_RUNS_LATER), spelled(path)):
        severity, why = "high", "A file that decides what runs later."
    else:
        severity = "medium"
    pattern = sensitive_pattern(path, patterns)
    if pattern is not None:
        why = f"A sensitive file, as {pattern} says." if severity == "medium" else why
        return Risk("high" if severity == "medium" else severity, why)
    return Risk(severity, about)
