"""How the site is built: ``make docs``, from the pages here, the docstrings, and the scripts in examples/."""

import os
import sys
import sysconfig
from pathlib import Path

from sphinx.util.inspect import signature, stringify_signature

import troth

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
# The MPI pages find `mpiexec` where this Python has its own.
os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
os.environ["COLUMNS"] = "72"  # what a column of the site holds on a laptop
os.environ["NETWORKX_WARNINGS_TO_IGNORE"] = "cache"  # examples/coappearances.py converts a graph on purpose

project, author = "troth", "The troth developers"
project_copyright = author
version = release = troth.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.programoutput",
    "matplotlib.sphinxext.plot_directive",
    "command_help",
    "play",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the gallery's settings hold a function

# ---- pages ----

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp, .go"

# ---- docstrings ----

autosummary_generate = True
autodoc_mock_imports = ["torch", "torch_geometric"]  # large, and not needed to read MatchPooling's docstring
autodoc_typehints = "none"  # numpydoc's sections say what is taken, in words
numpydoc_show_class_members = False


def sign(app, what, name, thing, options, text, returns):
    """The layer's signature is that of its __init__, which the mocked base hides."""
    if name == "troth.interop.pyg.MatchPooling":
        text = stringify_signature(signature(thing.__init__, bound_method=True), show_annotation=False)
    return text, returns


def setup(app):
    app.connect("autodoc-process-signature", sign)


# ---- pictures and examples ----

plot_formats = [("png", 160)]
plot_html_show_formats = plot_html_show_source_link = False
plot_include_source = True


def arguments(gallery, script):
    """What an example is called with: a place for its file, a size that does not keep the reader waiting."""
    build = Path(gallery["src_dir"]) / "_build"
    build.mkdir(exist_ok=True)  # the site may be built elsewhere
    words = {"demo.py": [str(build / "matching.png")], "amg_poisson.py": ["150"]}
    return words.get(Path(script["src_file"]).name, [])


UNRUN = ["pool_gnn"]  # needs torch, which is large: listed, not run
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": rf"/(?!{'|'.join(UNRUN)})\w+\.py$",
    "within_subsection_order": "FileNameSortKey",
    "reset_argv": arguments,
    "default_thumb_file": str(HERE / "_static" / "matching.svg"),
    "show_memory": False,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1,
}

# ---- the look ----

html_theme = "pydata_sphinx_theme"
html_title = "troth"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = html_logo = "_static/matching.svg"
html_theme_options = {
    "logo": {"text": "troth", "image_light": "_static/matching.svg", "image_dark": "_static/matching.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    # The step pages want the whole width.
    "secondary_sidebar_items": {
        "algorithms/*": [],
        "api/*": ["page-toc"],
        **{path.stem: ["page-toc"] for path in HERE.glob("*.md") if path.stem != "index"},
    },
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {name: [] for name in ("index", "start", "benchmarks")}
html_show_sourcelink = False
