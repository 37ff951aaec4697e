"""``%agent try``: an option that tries do not have is refused, not ignored."""

import pytest

import agentnb
from agentnb.ipython.arguments import parse
from agentnb.ipython.config import Agentnb
from agentnb.plugins.branches.plugin import branches_of


@pytest.mark.parametrize("option", ["-k", "-t x", "--freedom ask", "--permissions ask", "-c df", "--timeout 5"])
def test_try_refuses_options_that_it_does_not_support(option: str) -> None:
    arguments = parse(f"{option} try 3 Improve the model")
    with pytest.raises(agentnb.UsageError, match=rf"%agent try takes no {option.split(maxsplit=1)[0]}\. "):
        branches_of(arguments, None, Agentnb())
