"""The public API as text; a change of it is a decision (and a line in CHANGELOG.md)."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.metadata import version
from typing import Any, Literal

import agentnb

PUBLIC = """
agent_sessions(agent=None, *, command=None, env=None, cwd=None, everywhere=False, cursor=None, timeout=120.0)
agents()
Batch
    as_completed()
    cancel()
    count(value)
    counts
    done
    failed
    failures
    index(value, start=0, stop=None)
    latest(limit, *, reason=None)
    listen(listener)
    pace
    result(number)
    results
    retry()
    seconds
    seconds_left
    stopped
    summary
    to_frame()
    usage
    wait(timeout=None, *, check=None)
    wait_until_begun()
BatchResult(number, label, prompt, state, text, output, error, reason, attempts, input_tokens, output_tokens, costs, seconds, session, log='', changes=(), folder='')
Branch(number, parts, turn)
Branches(host, folder, prompt, *, higher_is_better)
branches(prompt, n=3, *, agents=None, measure=None, higher_is_better=True, verify=False, confine=True, **options)
CellProvenance(*, index, id, kind, count, line_count, lines, turns, is_edited, agent_line_count=0)
chat(session=None)
code(question, symbol=None, *, cell=None, file=None, line=None, column=None, new_name=None)
compare(before, after, *more, name='table', **options)
compare_agents(prompt, agents, inputs, **options)
Comparison
    agreement
    cancel()
    majority
    to_frame()
    wait(timeout=None)
connect(url, token=None, *, certificate=None, insecure=False)
DataChecks(iterable=(), /)
delete_session(session, agent=None, *, command=None, env=None, cwd=None, timeout=120.0)
doctor(*names)
duplicate_session(session)
Finding(*, kind, cause, cell=None, evidence='', advice='', related=())
forget(session)
forget_research(package=None, version=None)
history(search='', *, here=False, folder=None, agent=None, since=None, until=None, state='', archived=False, limit=50, kept_by=None, everywhere=False, command=None, env=None, cursor=None, timeout=120.0)
InputQuestion
    answer(values=None, *, response='accept')
    answers
    decline()
    do
    id
    message
    questions
    url
Loop
    begin(judged, rows)
    best
    cancel()
    difference(number)
    done
    go_on()
    higher_is_better
    listen(listener)
    metric
    prompt
    spent
    state
    tries
    view
    wait(timeout=None)
    why
loop(prompt, *, metric, until=None, budget=None, target=None, patience=None, tries=None, higher_is_better=True, agent=None, again=0, held=None, timeout=3600.0, metric_timeout=300.0, confine=True, executor=None, **options)
logout(agent=None, *, command=None, env=None, cwd=None, timeout=120.0)
map(prompt, inputs, *, agent=None, command=None, env=None, model=None, cwd=None, permissions='deny', mcp_servers=(), verify=False, concurrency=4, processes=1, output=None, check=None, timeout=None, retries=1, backoff=1.0, on_error='raise', max_failures=None, max_cost=None, budget=None, resume=None, cassette=None, executor=None, progress=True)
pair()
PermissionQuestion
    agent
    allow()
    answer(option)
    command
    deny()
    diffs
    do
    id
    kind
    option(answer)
    options
    paths
    preview()
    reason
    severity
    tab_id
    title
    turn_id
PermissionRequest
    agent
    command
    diffs
    id
    kind
    option(answer)
    options
    paths
    reason
    severity
    tab_id
    title
    turn_id
Rehearsal
    available
    connections
    data_checks
    error
    exit_code
    files
    memory
    more_files
    pictures
    processes
    reason
    refused
    result
    seconds
    stdout
    summary
    summary_with(concern)
    traceback
    variables
    way
Provenance(cells=(), turns=(), *, notebook='', cell_count=0, line_count=0, verified=None, note='')
provenance(notebook=None)
ProvenanceTurn(*, session, turn, agent, model='', number=None, time=None, prompt='', title='', is_kept=True, from_notebook=False)
rehearse(code=None, *, command=None, cwd=None, env=None, seconds=5.0)
Remote
    address
    chat(session=None)
    close()
    message
    sessions
    state
research(question, package, version=None, *, agent=None)
resume(session, *, command=None, permissions=None, permission_timeout=60.0, freedom=None, env=None, mcp_servers=None, directories=(), kernel_tools=None)
serve(host='127.0.0.1', port=0, token=None, *, name='client', rights=('watch', 'drive', 'approve'), certificate=None, key=None, insecure=False, hosts=(), origins=())
Server
    add_client(name, *, rights=('watch',), sessions=None, expires=None)
    address
    clients
    close()
    closed
    revoke(name)
    token
    url
Session
    aclose(timeout=10.0)
    agent
    answer(request_id, values=None, *, response='accept')
    budget
    cancel()
    changes
    chat
    close(timeout=10.0)
    closed
    continue_queue()
    edit(turn, text)
    extension(method, params=None, *, notify=False, timeout=60.0)
    files
    fork(title=None, timeout=120.0)
    freedom
    gap
    health()
    keep(*items)
    kernel_tools
    login(method=None, timeout=600.0)
    on_extension(method, handler)
    open(timeout=120.0)
    permissions
    prompt(text, context=(), *, attachments=(), verify=False, instructions='', output=None)
    questions
    queue
    read_only
    redo(*items, choices=None)
    reorder(turns)
    restart(timeout=60.0)
    rewind(turn=None, *, changes=False, choices=None)
    send_now(turn)
    set_mode(mode_id, timeout=60.0)
    set_model(model, timeout=60.0)
    set_option(config_id, value, timeout=60.0)
    state
    steer(text)
    suggestions
    tab_id
    title
    turns
    undo(*items, choices=None)
    waiting
sessions(search='', *, here=False, cwd=None, limit=50)
settings()
sidebar(session=None)
skills()
start(agent=None, *, command=None, env=None, model=None, cwd=None, permissions='ask', permission_timeout=60.0, freedom=None, title=None, mcp_servers=None, directories=(), components=None, kernel_tools=None, confine=None, network='all', verify=False, budget=None, session=None)
storage()
ToolCall
    content
    count(value, /)
    differences
    exit_code
    id
    index(value, start=0, stop=9223372036854775807, /)
    kind
    locations
    output
    preview
    ran_without_asking
    raw_input
    raw_output
    reason
    status
    text
    title
trust(folder='.')
Turn
    add_done_callback(callback)
    cancel()
    changes
    data_checks
    done
    error
    files
    id
    keep(*items)
    output
    plan
    raise_for_error()
    redo(*items, choices=None)
    session
    snapshot
    state
    stop_reason
    text
    thoughts
    tool_calls
    undo(*items, onwards=False, choices=None)
    usage
    wait(timeout=None, *, check=True)
    wait_async(timeout=None, *, check=True)
unpair()
untrust(folder='.')
update_session(session, *, title=None, pinned=None, archived=None)
usage(by='day', *, session=None, folder=None, agent=None, since=None, until=None, limit=100)
Verification(*, ok, findings=(), seconds=0.0, not_checked=(), notebook='', cells=0, ran=0, runs=0, way='', digest='')
verify(notebook=None, *, run=True, seconds=120.0, cwd=None, network=None)
warm(agent=None, *, command=None, env=None, cwd=None, mcp_servers=None, directories=(), components=None)
"""  # noqa: E501 - as they are
TYPES = {
    "PermissionAnswer": "str | ConfirmationOption",
    "PermissionCallback": "Callable[[PermissionRequest], PermissionAnswer | Awaitable[PermissionAnswer]]",
    "Permissions": "Literal['ask', 'allow', 'deny'] | PermissionCallback",
    "ToolCallStatus": Literal["pending", "in_progress", "completed", "failed", "cancelled"],
    "TurnState": Literal["queued", "running", "complete", "cancelled", "error"],
}
ERRORS = """
AgentDied AgentError AgentNotFound AgentRefused AgentStartFailed AgentnbError AuthenticationRequired BatchFailed
BudgetExceeded CassetteBroken CassetteError CassetteMismatch ChangesError ChangesUnavailable ContentNotStored
FileUnavailable FilesConflict HostUnavailable KernelBusy KernelChangesConflict LogDamaged LogError LogUnavailable
NotOffered OutsideWorkspace PermissionDenied PluginFailed PolicyError ProtocolError SessionClosed SessionError
SettingsError TurnCancelled TurnError TurnFailed TurnRefused TurnTimeout UnknownAgent UnknownMention UnknownSession
UnsupportedVersion UsageError
"""
CLASSES = (
    "Batch",
    "Comparison",
    "InputQuestion",
    "Loop",
    "PermissionQuestion",
    "PermissionRequest",
    "Rehearsal",
    "Remote",
    "Server",
    "Session",
    "ToolCall",
    "Turn",
)
MODULES = {"errors", "testing"}
HEAVY = ["acp", "agentnb.errors", "agentnb.testing", "anywidget", "asyncio", "IPython", "ipywidgets", "json", "logging"]
HEAVY += ["msgspec", "pydantic", "traitlets"]


def test_public_api_is_unchanged() -> None:
    """Names, arguments and defaults, of everything in ``agentnb.__all__``."""
    others = {"__version__", *MODULES, *TYPES, *ERRORS.split()}
    names = sorted({*agentnb.__all__, "map"} - others, key=str.casefold)
    assert sorted(_lines(names)) == sorted(PUBLIC.strip().splitlines())
    assert others <= set(agentnb.__all__)
    assert {name: getattr(agentnb, name) for name in TYPES} == TYPES


def test_every_error_is_exported_by_the_package() -> None:
    """Exactly the errors of the tree, without a session; and the modules."""
    tree = {name for name, value in vars(agentnb.errors).items() if inspect.isclass(value) and value is not Any}
    assert (tree, set(ERRORS.split())) == (set(ERRORS.split()), tree)
    assert all(getattr(agentnb, name) is getattr(agentnb.errors, name) for name in tree)
    assert agentnb.testing.events.__module__.startswith("agentnb.events")


def test_dir_shows_only_public_names() -> None:
    """Tab completion uses it."""
    assert dir(agentnb) == sorted({*agentnb.__all__, "map"})  # `import *` must not hide the built-in `map`


def test_every_public_name_has_a_docstring() -> None:
    """Each has a docstring, members included."""
    named = set(agentnb.__all__) - {"__version__", *TYPES}
    silent = [name for name in named if not getattr(agentnb, name).__doc__]
    for kind in (agentnb.Session, agentnb.Turn):
        silent += [f"{kind.__name__}.{name}" for name in _members(kind) if not getattr(kind, name).__doc__]
    assert silent == []


def test_version_is_that_of_the_distribution() -> None:
    assert agentnb.__version__ == version("jupyter-agentnb")


def test_import_loads_no_heavy_module() -> None:
    """``import agentnb`` loads no front end, agent SDK or event loop."""
    program = f"import sys, agentnb; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_whole_turn_does_not_load_the_sdk() -> None:
    """A whole turn in a plain process works without the official SDK and widgets."""
    program = (
        "import sys, agentnb\n"
        "session = agentnb.start()\n"
        "session.prompt('Hello').wait(timeout=60)\n"
        "session.close()\n"
        "print(*[name for name in ('acp', 'anywidget', 'ipywidgets', 'pydantic') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def _lines(names: list[str]) -> list[str]:
    lines = []
    for name in names:
        value = getattr(agentnb, name)
        if name in CLASSES:
            lines += [name, *(f"    {member}{_signature(getattr(value, member))}" for member in _members(value))]
        else:
            lines.append(f"{name}{_signature(value)}")
    return lines


def _members(kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_")]


def _signature(value: Any) -> str:
    """Returns the arguments without annotations; nothing for a property."""
    if not callable(value):
        return ""
    signature = inspect.signature(value)
    bare = [
        parameter.replace(annotation=parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))
