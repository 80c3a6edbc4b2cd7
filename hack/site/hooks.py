# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

"""Documents are written for GitHub. MkDocs needs two things to show them in the same way."""

import os.path
import re

REPOSITORY = "https://github.com/gardener/gardener-extension-provider-hybrid"
ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
LINK = re.compile(r"\]\(((?:\.\./)*[\w./-]+)(#[\w-]+)?\)")
BEGINNING = re.compile(r"( *)(```)?")


def indented(lines):
    """Indents the contents of list items by multiples of four spaces, and blocks of code with their fences."""
    shift = None  # of the block of code
    for line in lines:
        spaces, fence = BEGINNING.match(line).groups()
        own = -len(spaces) % 4 if shift is None else shift
        if fence:
            shift = own if shift is None else None
        yield " " * own + line


def on_page_markdown(markdown, page, config, files):
    def link(match):
        """Links a file of the project that is not a document."""
        path = os.path.normpath(os.path.join(os.path.dirname(page.file.src_uri), match[1]))
        file = os.path.join(ROOT, path)
        if files.get_file_from_path(path) or not os.path.exists(file):
            return match[0]
        return f"]({REPOSITORY}/{'tree' if os.path.isdir(file) else 'blob'}/main/{path}{match[2] or ''})"

    return LINK.sub(link, "\n".join(indented(markdown.split("\n"))))
