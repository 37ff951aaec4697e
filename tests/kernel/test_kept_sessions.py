"""Sessions copied, found at the agent, opened, erased and deleted with ``%agents``, in a real kernel."""

from __future__ import annotations

from tests.kernel.running_kernel import ONE_KERNEL, RunningKernel


@ONE_KERNEL
def test_agents_magic_forks_opens_erases_and_deletes_sessions(kernel: RunningKernel) -> None:
    kernel.run("import os; os.environ['AGENTNB_ELIZA_STORE'] = 'store'; os.environ['AGENTNB_ELIZA_LOGIN'] = '0'")
    kernel.run("%agent -t cats my cat is ill")
    assert "Copied into the tab 'dogs'" in kernel.run("%agents fork cats as dogs").values[0]
    assert "Earlier you spoke of your cat." in kernel.run("%agent hm").displayed()[0]
    assert "running" in kernel.run("%agents health").values[0]
    kept = kernel.run("rows = %agents kept\nprint(*[row.id for row in rows], repr(rows.cursor))")
    assert kept.stdout.split() == ["sess-2", "sess-1", "None"], kept.error
    refused = kernel.run("%agents erase sess-2")
    assert refused.error.startswith("SessionError: The session 'sess-2' is open in the tab 'dogs'")
    kernel.run("tab = %agents list\nimport agentnb\ngone = agentnb.host.current_host()")
    assert "Closed the tab 'dogs'" in kernel.run("%agents close dogs").values[0]
    opened = kernel.run("%agents open sess-2 eliza")
    assert "%agent talks to it now" in opened.values[0], opened.error
    assert kernel.run("%agent /say and on").displayed()[0].endswith("and on")
    assert kernel.run("print(len(agentnb.history(os.getcwd())))").stdout == "3\n"
    kernel.run("%agents close")
    assert "deleted the session 'sess-2'" in kernel.run("%agents erase sess-2 eliza").values[0]
    row = "row = next(row for row in agentnb.history(os.getcwd()) if row.title == 'dogs'); print(row.id[:8])"
    assert "Deleted 'dogs' from the log: 2 turns" in kernel.run(f"%agents delete {kernel.run(row).stdout}").values[0]
    assert kernel.run("%agents logout eliza").error.startswith("NotOffered: Tour does not offer to log out.")
    for command in ("open", "erase", "delete", "logout"):
        assert kernel.run(f"%agents {command}").error.startswith(f"UsageError: %agents {command} needs")


@ONE_KERNEL
def test_tabs_get_the_configured_mcp_servers(kernel: RunningKernel) -> None:
    kernel.run('%config Agentnb.mcp_servers = {"files": {"command": "cat"}}')
    assert "These came with the session: `files`, `kernel`." in kernel.run("%agent -n /mcp").displayed()[0]
