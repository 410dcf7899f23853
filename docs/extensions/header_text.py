# SPDX-License-Identifier: Apache-2.0
"""The text of headers: comments beside declarations, prototypes without what compilers want.

Comments say what a reader needs in fixed phrases, in C:

    /* First what it does.
     *
     * name      what the parameter means; further lines
     *           stand below it.
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
_BEHIND = re.compile(
    r"[^\n]{0,3}?[;,]?[ \t]*(?:/\*(.*?)\*/|//([^\n]*(?:\n[ \t]*//[^\n]*)*))", re.DOTALL
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_WORDS = re.compile(r"\b(?:inline|TVM_FFI_[A-Z_]+|virtual|extern \"C\")(?:\(\"?\w*\"?\))?\s+")
_PHRASES = ("Parameters", "Returns", "Fails", "Threads")


class Source:
    """The text of a header; offsets are those of its bytes, which are ASCII."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines()

    def leading_paragraphs(self) -> list[str]:
        """Return the comment that the header begins with, without the line about its licence."""
        lines = []
        for line in self.lines:
            if not line.startswith(("//", "/*", " *")):
                break
            lines.append(re.sub(r"^(?:/\*|//| \*/?) ?", "", line).removesuffix("*/").rstrip())
        text = "\n".join(line for line in lines if "SPDX-License" not in line)
        return [paragraph for paragraph in re.split(r"\n\n+", text.strip("\n")) if paragraph]

    def start_of_macro(self, name: int) -> int:
        """Return where the line with `#define` begins, or the condition right above it."""
        start = self.text.rfind("\n", 0, name) + 1
        above = self.text.rfind("\n", 0, start - 1) + 1
        if self.text.startswith("#elif", above):
            return self.text.rfind("\n#if", 0, above) + 1
        return above if self.text.startswith("#if", above) else start

    def comment_at(self, start: int, end: int) -> str:
        """Return the text of the comment in front of a declaration, or behind it on its line."""
        before = self.text[:start]
        if found := _BLOCK_BEFORE.search(before[-8000:]) or _LINES_BEFORE.search(before[-8000:]):
            text = _without_marks(found[1])
            if not text.startswith("---- "):
                return text
        behind = _BEHIND.match(self.text, end)
        if behind and "\n" not in self.text[end : behind.start(1 if behind[1] else 2)]:
            return _without_marks(behind[1] or behind[2] or "")
        return ""


def _without_marks(comment: str) -> str:
    """Return a comment without its stars and slashes; a line of its own for each."""
    text = comment.strip()
    text = re.sub(r"^/\*|\*/$", "", text)
    lines = [re.sub(r"^\s*(?://|\*(?!/))? ?", "", line).rstrip() for line in text.splitlines()]
    if lines and lines[0].startswith(" "):
        lines[0] = lines[0].strip()
    lines = [line for line in lines if not re.match(r"\s*(NOLINT|clang-format)", line)]
    return "\n".join(lines).strip()


# ---- Prototypes ----------------------------------------------------------------------------------


def prototype_of(text: str, start: int, limit: int) -> str:
    """Return a declaration up to its body, on one line."""
    end = _end_of_head(text, start, limit)
    head = _COMMENT.sub(" ", text[start:end])
    head = re.sub(r"(?<=\w)< ", "<", re.sub(r"\s+", " ", head).strip())
    head = re.sub(r"\s*= default$", "", head)
    head = re.sub(r" TVM_FFI_ATTRIBUTE_PURE$", "", head)
    return _WORDS.sub("", head)


def _end_of_head(text: str, start: int, limit: int) -> int:
    """Return where the body, the initializers or the statement ends."""
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
    """A comment in its parts."""

    paragraphs: list[str] = field(default_factory=list)  # drawings keep their lines
    parameters: list[tuple[str, str]] = field(default_factory=list)
    phrases: dict[str, str] = field(default_factory=dict)  # by what stands before the colon


def parts_of(comment: str, parameters: tuple[str, ...] = ()) -> Described:
    """Take the comment of a function apart."""
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
    """Whether a paragraph is a table or a picture, whose spaces count."""
    lines = paragraph.splitlines()
    return all(line.startswith("  ") for line in lines)
