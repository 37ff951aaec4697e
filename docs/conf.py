"""How `make docs` builds the site.

The source folder is the checkout itself, not `docs/`. So a page links to a notebook or to the changelog with the same
path on a code host and on the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from pygments.lexer import inherit
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Text
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent

project = "agentnb"
author = copyright = "The agentnb authors"  # noqa: A001 (Sphinx's name)
found = re.search(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
release = version = found[1] if found else "unknown"

root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "notebooks/*.ipynb",
    "tests/REQUIREMENTS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = [
    *(".venv*", ".git", ".cache", ".mypy_cache", "build", "dist", "test-results"),
    *("agentnb", "js", "labextension", "tests/*/**", "docs/_static", "docs/_extra", "docs/conf.py"),
]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]

# Notebooks are shown with the outputs that they were committed with; `make test-notebooks` keeps those true.
nb_execution_mode = "off"
nb_render_markdown_format = "gfm"
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True, "show-inheritance": True, "exclude-members": "__init__, __new__"}
autodoc_member_order = "bysource"
autodoc_typehints = "both"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "pydata_sphinx_theme"
html_title = f"agentnb {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_extra"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "agentnb"},
    "navbar_align": "left",
    "show_nav_level": 1,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars: dict[str, list[str]] = {"docs/index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def magic(_: object, match: re.Match[str]) -> Iterator[tuple[int, Any, str]]:
    """The tokens of one line with a magic."""
    yield match.start(1), Comment.Preproc, match[1]
    yield match.start(2), Text, match[2]


class NotebookLexer(PythonLexer):
    """Python with magics: what follows `%agent` is text for an agent, not code."""

    tokens = {  # noqa: RUF012 (Pygments' own form)
        "root": [(r"\A%%[^\n]*\n(?:.|\n)*", Text), (r"^(%[a-z_]+)(.*)$", magic), inherit],
    }


class PicturesForBothThemes(SphinxTransform):
    """Shows ``…-dark.png`` in the dark theme where it lies beside a picture ``…-light.png``."""

    default_priority = 400  # before Sphinx collects the images

    def apply(self, **_: Any) -> None:
        """Add the dark picture behind the light one; the theme's classes show one of them."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for light in list(self.document.findall(nodes.image)):
            uri = light["uri"].replace("-light.png", "-dark.png")
            if uri != light["uri"] and (folder / uri).is_file():
                dark = nodes.image(**{**light.attributes, "uri": uri, "classes": ["only-dark"]})
                light["classes"].append("only-light")
                light.replace_self([light, dark])


def made_elsewhere(
    _app: object, _what: str, name: str, _object: object, _options: object, _signature: object, _returns: object
) -> tuple[str, None] | None:
    """No arguments for classes that users never call: functions make them."""
    return ("", None) if name in {"agentnb.Session", "agentnb.Turn", "agentnb.ToolCall"} else None


def on_the_site(env: Any, page: str) -> Iterator[str]:
    """The page, and those that the lists of contents below it name."""
    yield page
    for below in env.toctree_includes.get(page, ()):
        yield from on_the_site(env, below)


def keep_out_of_search(_app: object, env: Any) -> None:
    """Pages that no list of contents names are for contributors: they are built, but the site's search skips them."""
    for page in env.found_docs.difference(on_the_site(env, env.config.root_doc)):
        env.metadata[page].update(orphan="", nosearch="")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("env-updated", keep_out_of_search)
    app.add_transform(PicturesForBothThemes)
    app.connect("autodoc-process-signature", made_elsewhere)
    app.add_lexer("python", NotebookLexer)
    app.add_lexer("ipython3", NotebookLexer)
