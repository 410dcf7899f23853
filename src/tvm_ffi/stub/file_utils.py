# SPDX-License-Identifier: Apache-2.0
"""Source files with marker lines, and their blocks of generated text."""

from ._stubgen.blocks import CodeBlock
from ._stubgen.markers import syntax_for
from ._stubgen.source_file import FileInfo, collect_files, path_walk

__all__ = ["CodeBlock", "FileInfo", "collect_files", "path_walk", "syntax_for"]

CodeBlock.__module__ = FileInfo.__module__ = __name__
