# SPDX-License-Identifier: Apache-2.0
"""Text extraction from headers: comments of declarations, and prototypes without attributes.

Comments of C functions have fixed phrases:

    /* The summary.
     *
     * name      meaning of the parameter; continuation lines
     *           are indented.
     * Returns: ...
     * Fails: ...     Threads: ... */
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_BLOCK_BEFORE = re.compile(
    r"(?:^|\n)[ \t]*(/\*(?:(?!\*/).)*\*/)[ \t]*\n[ \t]*(?:typedef )?$", re.DOTALL
)
_LINES_BEFORE = re.compile(r"(?:^|\n)((?:[ \t]*//[^\n]*\n)+)[ \t]*$")
_AFTER = re.compile(
    r"[^\n]{0,3}?[;,]?[ \t]*(?:/\*(.*?)\*/|//([^\n]*(?:\n[ \t]*//[^\n]*)*))", re.DOTALL
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ATTRIBUTES = re.compile(r"\b(?:inline|TVM_FFI_[A-Z_]+|virtual|extern \"C\")(?:\(\"?\w*\"?\))?\s+")
_PHRASES = ("Parameters", "Returns", "Fails", "Threads")


class Source:
    """The text of a header.  It is ASCII, so libclang's byte offsets are string indices."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines()

    def leading_paragraphs(self) -> list[str]:
        """Return the paragraphs of the leading comment, without the licence line."""
        lines = []
        for line in self.lines:
            if not line.startswith(("//", "/*", " *")):
                break
            lines.append(re.sub(r"^(?:/\*|//| \*/?) ?", "", line).removesuffix("*/").rstrip())
        text = "\n".join(line for line in lines if "SPDX-License" not in line)
        return [paragraph for paragraph in re.split(r"\n\n+", text.strip("\n")) if paragraph]

    def start_of_macro(self, name: int) -> int:
        """Return the start of the `#define` line, or of the condition directly above it."""
        start = self.text.rfind("\n", 0, name) + 1
        above = self.text.rfind("\n", 0, start - 1) + 1
        if self.text.startswith("#elif", above):
            return self.text.rfind("\n#if", 0, above) + 1
        return above if self.text.startswith("#if", above) else start

    def comment_at(self, start: int, end: int) -> str:
        """Return the text of the comment before a declaration, or after it on its line."""
        before = self.text[:start]
        if found := _BLOCK_BEFORE.search(before[-8000:]) or _LINES_BEFORE.search(before[-8000:]):
            text = _without_marks(found[1])
            if not text.startswith("---- "):
                return text
        after = _AFTER.match(self.text, end)
        if after and "\n" not in self.text[end : after.start(1 if after[1] else 2)]:
            return _without_marks(after[1] or after[2] or "")
        return ""


def _without_marks(comment: str) -> str:
    """Return the lines of a comment without stars and slashes."""
    text = comment.strip()
    text = re.sub(r"^/\*|\*/$", "", text)
    lines = [re.sub(r"^\s*(?://|\*(?!/))? ?", "", line).rstrip() for line in text.splitlines()]
    if lines and lines[0].startswith(" "):
        lines[0] = lines[0].strip()
    lines = [line for line in lines if not re.match(r"\s*(NOLINT|clang-format)", line)]
    return "\n".join(lines).strip()


# ---- Prototypes ----------------------------------------------------------------------------------


def prototype_of(text: str, start: int, limit: int) -> str:
    """Return a declaration without its body, on one line."""
    end = _end_of_head(text, start, limit)
    head = _COMMENT.sub(" ", text[start:end])
    head = re.sub(r"(?<=\w)< ", "<", re.sub(r"\s+", " ", head).strip())
    head = re.sub(r"\s*= default$", "", head)
    head = re.sub(r" TVM_FFI_ATTRIBUTE_PURE$", "", head)
    return _ATTRIBUTES.sub("", head)


def _end_of_head(text: str, start: int, limit: int) -> int:
    """Return the position of the body, of the member initializers, or of the semicolon."""
    depth = 0
    is_after_parameters = False
    position = start
    while position < limit:
        character = text[position]
        if text.startswith(("/*", "//"), position):
            comment = _COMMENT.match(text, position)
            assert comment is not None
            position = comment.end()
            continue
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
            is_after_parameters = depth == 0
        elif depth == 0 and character in "{;":
            return position
        elif depth == 0 and character == ":" and is_after_parameters:
            is_initializer = "::" not in text[position - 1 : position + 2]
            if is_initializer:
                return position
        position += 1
    return limit


# ---- Comments of C functions ---------------------------------------------------------------------


@dataclass
class Described:
    """A parsed comment."""

    paragraphs: list[str] = field(default_factory=list)  # with their line breaks
    parameters: list[tuple[str, str]] = field(default_factory=list)  # names and descriptions
    phrases: dict[str, str] = field(default_factory=dict)  # by the word before the colon


def parts_of(comment: str, parameters: tuple[str, ...] = ()) -> Described:
    """Parse the comment of a function."""
    described = Described()
    names = "|".join(map(re.escape, parameters)) or "(?!)"
    is_parameter = re.compile(rf"((?:{names})(?:, (?:{names}))*)(?: {{2,}}|: )(.*)")
    phrase = "|".join(_PHRASES)
    is_phrase = re.compile(rf"((?:{phrase})(?:, (?:{phrase}))*): +(.*)")
    target: list[str] | None = None
    rows: list[tuple[str, str, list[str]]] = []
    for line in re.sub(r"(?<!,) +(Threads: )", r"\n\1", comment).splitlines():
        if parameter := is_parameter.fullmatch(line):
            target = [parameter[2]]
            rows.append(("parameter", parameter[1], target))
        elif phrase := is_phrase.fullmatch(line):
            target = [phrase[2]]
            rows += [("phrase", name, target) for name in phrase[1].split(", ")]
        elif not line:
            target = None
            described.paragraphs.append("")
        elif target is not None and line.startswith("  "):
            target.append(line.strip())
        else:
            target = None
            _add_line(described.paragraphs, line)
    described.paragraphs = [text.rstrip("\n") for text in described.paragraphs if text]
    for role, name, lines in rows:
        text = " ".join(lines)
        if role == "parameter":
            described.parameters.append((name, text))
        else:
            described.phrases[name] = text
    return described


def _add_line(paragraphs: list[str], line: str) -> None:
    if not paragraphs:
        paragraphs.append("")
    paragraphs[-1] += line + "\n"


def is_drawing(paragraph: str) -> bool:
    """Return True if a paragraph is a table or a drawing, whose spaces are significant."""
    lines = paragraph.splitlines()
    return all(line.startswith("  ") for line in lines)
