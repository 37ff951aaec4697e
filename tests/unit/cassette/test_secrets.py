"""Secrets: no credential of any kind, from any message, is in the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cassette.conversation import Conversation, lines, recorded, recorder

D, L, H = "0123456789", "abcdefghijklmnopqrstuvwxyz", "0123456789abcdef"
U = L.upper()
MIX = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"

# Joined from parts, so that this file contains no credential.
CREDENTIALS = {
    "AWS key id": "AKIA" + "IOSFODNN7EXAMPLE",
    "AWS temporary key id": "ASIA" + "IOSFODNN7EXAMPLE",
    "GitHub token": "ghp" + "_" + MIX + "Qr5t",
    "GitHub OAuth token": "gho" + "_" + MIX + "Qr5t",
    "GitHub server token": "ghs" + "_" + MIX + "Qr5t",
    "GitHub fine-grained token": "github" + "_pat_" + MIX + "_" + MIX,
    "GitLab token": "glpat" + "-" + MIX[:20],
    "Slack bot token": "xoxb" + "-123456789012-" + MIX[:24],
    "Slack user token": "xoxp" + "-123456789012-" + MIX[:24],
    "Slack app token": "xapp" + "-1-A0123-" + MIX,
    "Slack webhook": "https://hooks.slack" + ".com/services/T000/B000/" + MIX[:24],
    "Discord webhook": "https://discord" + ".com/api/webhooks/123456789/" + MIX,
    "Anthropic key": "sk-ant" + "-api03-" + MIX + MIX,
    "OpenAI key": "sk-" + MIX + MIX[:16],
    "OpenAI project key": "sk-proj" + "-" + MIX + MIX,
    "OpenRouter key": "sk-or" + "-v1-" + H * 4,
    "Stripe key": "sk" + "_live_" + MIX[:24],
    "Stripe restricted key": "rk" + "_live_" + MIX[:24],
    "Stripe webhook secret": "whsec" + "_" + MIX,
    "Google API key": "AIza" + "Sy" + MIX + "k",
    "Google OAuth token": "ya29" + ".a0Af" + MIX,
    "Google OAuth secret": "GOCSPX" + "-" + MIX[:28],
    "Hugging Face token": "hf" + "_" + (L + U)[:34],
    "npm token": "npm" + "_" + (MIX + MIX)[:36],
    "PyPI token": "pypi" + "-AgEIcHlwaS5vcmc" + MIX + MIX,
    "JSON web token": "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0" + "." + MIX,
    "SendGrid key": "SG" + "." + MIX[:22] + "." + (MIX + MIX)[:43],
    "Twilio key": "SK" + H * 2,
    "Mailgun key": "key" + "-" + H * 2,
    "Mailchimp key": H * 2 + "-us12",
    "Telegram bot token": "123456789" + ":AA" + MIX + "x",
    "DigitalOcean token": "dop" + "_v1_" + H * 4,
    "Databricks token": "dapi" + H * 2,
    "Azure storage key": "AccountKey" + "=" + (MIX * 3)[:86] + "==",
    "Azure signature": "https://a.blob.core.windows.net/c?sp=r&" + "sig=" + MIX + "%3D",
    "Shopify token": "shpat" + "_" + H * 2,
    "Linear key": "lin" + "_api_" + MIX + "abcd",
    "Notion token": "ntn" + "_" + MIX + "abcdefgh12",
    "Vault token": "hvs" + "." + MIX,
    "Doppler token": "dp" + ".pt." + MIX,
    "Docker token": "dckr" + "_pat_" + MIX[:27],
    "New Relic key": "NRAK" + "-" + "ABCDEFGH0123456789ABCDEFGHI",
    "Grafana token": "glsa" + "_" + MIX + "_0123abcd",
    "Sentry token": "sntrys" + "_" + MIX + MIX,
    "Atlassian token": "ATATT3" + "xFfGF0" + MIX * 2,
    "Figma token": "figd" + "_" + MIX + "abcdef",
    "Groq key": "gsk" + "_" + MIX + "abcdefghijklmnopqrst",
    "xAI key": "xai" + "-" + MIX * 2,
    "Replicate token": "r8" + "_" + MIX + "abcde",
    "Perplexity key": "pplx" + "-" + MIX + MIX[:16],
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow" + MIX + "\n-----END RSA PRIVATE KEY-----",
    "SSH key": "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNz" + MIX + "\n-----END OPENSSH PRIVATE KEY-----",
    "password in an address": "postgres://ada:" + "hunter2-" + MIX[:8] + "@db.example.org/fits",
    "bearer": "Authorization: Bearer " + MIX,
    "basic": "Authorization: Basic " + "YWRhOmh1bnRlcjI9" + MIX[:8],
    "assignment": "DB_PASSWORD=" + "correct-horse-9",
    "assignment in code": 'api_key = "' + "0f9e8d7c6b5a4321" + '"',
    "assignment in YAML": "client_secret: " + "Zm9vYmFyYmF6cXV4" + "1",
}
HARMLESS = (
    "The token count is 1200 and max_tokens=4096.",
    "Set OPENAI_API_KEY=$OPENAI_API_KEY first.",
    "password: ********",
    "api_key = os.environ['OPENAI_API_KEY']",
    "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased')",
    "https://example.org:8080/a@b",
    "commit 3f1c9a7e5b2d4c6f8a0b1c2d3e4f5a6b7c8d9e0f",
    "sk-learn and task-oriented-dialogue-systems",
    "key = lambda row: row[0]",
    "The basic authentication scheme, the bearer of news.",
)


def bare(credential: str) -> str:
    """Returns the secret part of a sample."""
    for sign in (
        "PRIVATE KEY-----\n",
        "ada:",
        "Bearer ",
        "Basic ",
        "PASSWORD=",
        '= "',
        "secret: ",
        "sig=",
        "AccountKey=",
    ):
        if sign in credential:
            return credential.partition(sign)[2].partition("@db")[0].partition("\n")[0].strip('"')
    return credential


def test_at_least_forty_kinds_of_credentials_are_known() -> None:
    assert len(CREDENTIALS) >= 40


@pytest.mark.parametrize("name", CREDENTIALS)
def test_recording_contains_no_credential(name: str, tmp_path: Path) -> None:
    """In a prompt, in the answer in three pieces, in a file, in a command's output, in an error."""
    secret = CREDENTIALS[name]
    path = tmp_path / "a.cassette.jsonl"
    with recorded(path) as talk:
        session = talk.begin()
        request = talk.prompt(session, f"Use {secret} for it.")
        third = len(secret) // 3
        talk.says(session, "I use ", secret[:third], secret[third : 2 * third], secret[2 * third :], " now.")
        talk.received(id=7, method="fs/write_text_file", params={"sessionId": session, "path": "a", "content": secret})
        talk.sent(id=7, error={"code": -1, "message": f"no: {secret}"})
        talk.update(session, "tool_call_update", toolCallId="t", rawOutput={"output": f"{secret}\n"})
        talk.received(id=request, result={"stopReason": "end_turn"})
    text = path.read_text(encoding="utf-8")
    assert bare(secret) not in text
    assert json.dumps(bare(secret))[1:-1] not in text
    assert "⟦secret " in text
    assert "".join(
        line["params"]["update"]["content"]["text"]
        for line in lines(path)
        if line.get("params", {}).get("update", {}).get("sessionUpdate") == "agent_message_chunk"
    ).endswith(" now.")


def test_recording_hides_values_of_secret_variables(tmp_path: Path) -> None:
    """In any form; also variables that only the agent's process has."""
    path = tmp_path / "a.cassette.jsonl"
    recording = recorder(path, MY_API_KEY="plain words here", EDITOR="plain old vi")
    talk = Conversation(recording.tap("someone", {"DB_PASSWORD": "open sesame!"}))
    talk.turn(talk.begin(), "It is plain words here.", "open se", "same! and plain old vi")
    recording.close()
    text = path.read_text(encoding="utf-8")
    assert "plain words here" not in text
    assert "sesame" not in text
    assert "same!" not in text
    assert "⟦secret MY_API_KEY⟧" in text
    assert "⟦secret DB_PASSWORD⟧" in text
    assert " and plain old vi" in text


def test_recording_hides_fields_named_like_secrets(tmp_path: Path) -> None:
    """The environment of an MCP server, headers, options; token counts stay."""
    path = tmp_path / "a.cassette.jsonl"
    with recorded(path) as talk:
        servers = [{"name": "db", "command": "db", "args": [], "env": [{"name": "DB_AUTH", "value": "swordfish"}]}]
        request = talk.request("session/new", cwd="/w/x", mcpServers=servers)
        talk.received(id=request, result={"sessionId": "ses-abcdef"})
        request = talk.prompt("ses-abcdef", "Hi")
        raw = {"apiKey": "swordfish", "headers": {"Authorization": "swordfish"}, "max_tokens": 5, "tokens": "many"}
        talk.update("ses-abcdef", "tool_call", toolCallId="t", title="T", rawInput=raw)
        talk.received(id=request, result={"stopReason": "end_turn", "usage": {"inputTokens": 7}})
    text = path.read_text(encoding="utf-8")
    assert "swordfish" not in text
    assert '"max_tokens": 5' in text
    assert '"tokens": "many"' in text
    assert '"inputTokens": 7' in text
