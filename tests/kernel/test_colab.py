"""In Colab, views name the widget manager that loads them; otherwise Colab shows only ipywidgets' own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kernel.running_kernel import ONE_KERNEL

if TYPE_CHECKING:
    from tests.kernel.running_kernel import RunningKernel

URL = "https://ssl.gstatic.com/colaboratory-static/widgets/colab-cdn-widget-manager/0/manager.min.js"
OUTPUT = f"""
class _widgets:
    _installed_url = None

def enable_custom_widget_manager():
    assert _widgets._installed_url is None, "once"
    _widgets._installed_url = {URL!r}
"""
VIEW = "application/vnd.jupyter.widget-view+json"


def managers(result: Any) -> list[str]:
    """Returns the widget manager of each displayed view."""
    displayed = [content for kind, content in result.outputs if kind in {"display_data", "execute_result"}]
    views = [each for each in displayed if VIEW in each["data"]]
    return [
        each["metadata"].get(VIEW, {}).get("colab", {}).get("custom_widget_manager", {}).get("url") for each in views
    ]


@ONE_KERNEL
def test_views_in_colab_name_their_widget_manager(kernel: RunningKernel) -> None:
    """The fake ``google.colab.output`` uses the names from Colab's source."""
    package = kernel.folder / "google" / "colab"
    package.mkdir(parents=True)
    (package / "output.py").write_text(OUTPUT)
    kernel.run(f"import sys; sys.path.insert(0, {str(kernel.folder)!r}); import google.colab.output")
    chat = kernel.run("%load_ext agentnb\nimport agentnb\nagentnb.start('eliza')")
    assert (chat.status, managers(chat)) == ("ok", [URL])
    turn = kernel.run("%config Agentnb.view = 'live'\n%agent -a eliza /say hello")
    assert (turn.status, managers(turn)) == ("ok", [URL])
