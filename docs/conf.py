"""The docs as a site: `make docs` builds it into build/docs, and every warning is an error."""

from crowdrank import __version__

project = "crowdrank"
release = __version__
extensions = ["myst_parser"]
exclude_patterns = ["*.py"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
nitpicky = True

html_theme = "furo"
html_title = f"crowdrank {release}"
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
