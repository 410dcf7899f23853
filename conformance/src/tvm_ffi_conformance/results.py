# SPDX-License-Identifier: Apache-2.0
"""Results file: verdicts of one run, as JSON that `verify` checks, and as JUnit XML.

The file names the subject by its SHA-256, the kit by its version, and every case by identifier.
A digest over the content shows later changes; it protects against accidents, not against forgery.
`compare` runs the subject again and is the only proof.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

FORMAT = "tvm-ffi-conformance-results/1"
_MOST_MISSING = 5  # identifiers that `problems` names
VERDICTS = ("pass", "fail", "crash", "exit", "hang", "absent", "not run")


@dataclass
class Entry:
    """Result of one case or one check.

    Attributes
    ----------
    id : str
        Identifier of the case.
    verdict : str
        One of `VERDICTS`.
    required : bool
        True if the subject must pass.
    document, heading, rule : str
        The rule, and where it is written.
    detail : str
        Reason for a verdict other than pass.
    seconds : float
        Time that the case took.
    where : str
        Function and argument, for checks of libraries.
    repeat : str
        Command that repeats the case.
    """

    id: str
    verdict: str
    required: bool
    document: str
    heading: str
    rule: str
    detail: str = ""
    seconds: float = 0.0
    where: str = ""
    repeat: str = ""

    @property
    def failed(self) -> bool:
        """True if a required case did not pass."""
        return self.required and self.verdict != "pass"


@dataclass
class Results:
    """All results of one subject.

    Attributes
    ----------
    kind : str
        ``"runtime"``, ``"library"`` or ``"caller"``.
    subject : dict
        Path, SHA-256, level and other facts of the library.
    """

    kind: str
    subject: dict[str, Any]
    entries: list[Entry] = field(default_factory=list)

    @property
    def failures(self) -> list[Entry]:
        """Required entries that did not pass."""
        return [entry for entry in self.entries if entry.failed]

    def totals(self) -> dict[str, int]:
        """Return the number of entries by verdict, of required ones and of failures."""
        counts = Counter(entry.verdict for entry in self.entries)
        return {
            **{verdict: counts[verdict] for verdict in VERDICTS},
            "required": sum(entry.required for entry in self.entries),
            "failed": len(self.failures),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the results file."""
        content = {
            "format": FORMAT,
            "kit": kit_version(),
            "machine": f"{platform.system()} {platform.machine()}",
            "kind": self.kind,
            "subject": self.subject,
            "totals": self.totals(),
            "entries": [asdict(entry) for entry in self.entries],
        }
        content["digest"] = digest(content)
        return content

    def write(self, path: Path) -> None:
        """Write the results file."""
        path.write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")

    def write_junit(self, path: Path) -> None:
        """Write JUnit XML: a test case for each entry, `skipped` for entries not required."""
        suite = ElementTree.Element(
            "testsuite",
            name=f"tvm-ffi-conform {self.kind}",
            tests=str(len(self.entries)),
            failures=str(len(self.failures)),
        )
        for entry in self.entries:
            group, _, name = entry.id.partition(".")
            case = ElementTree.SubElement(
                suite, "testcase", classname=group, name=name, time=f"{entry.seconds:.4f}"
            )
            if entry.verdict != "pass":
                tag = "failure" if entry.failed else "skipped"
                message = f"{entry.verdict}: {entry.detail}"
                node = ElementTree.SubElement(case, tag, message=printable(message))
                node.text = printable(
                    f"{entry.where}\n{entry.rule}\n{entry.document}: {entry.heading}\n{entry.repeat}"
                )
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def printable(text: str) -> str:
    """Return `text` with the characters that XML cannot hold escaped."""
    return "".join(
        each if each in "\n\t" or (each >= " " and each < "\ud800") or "\ue000" <= each < "\ufffe"
        else f"\\x{ord(each):02x}"
        for each in text
    )  # fmt: skip


def kit_version() -> str:
    """Return the version of the kit."""
    try:
        return version("tvm-ffi-conformance")
    except PackageNotFoundError:
        return "source tree"


def digest(content: dict[str, Any]) -> str:
    """Return the SHA-256 of a results file without its digest."""
    rest = {key: value for key, value in content.items() if key != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def file_hash(path: str | Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def read(path: Path) -> Results:
    """Read a results file.

    Raises
    ------
    ValueError
        If the file is not a results file, or `problems` finds one.
    """
    found = problems(path)
    if found:
        raise ValueError(f"{path}: {found[0]}")
    content = json.loads(path.read_text(encoding="utf-8"))
    return Results(
        content["kind"], content["subject"], [Entry(**each) for each in content["entries"]]
    )


def problems(path: Path, required: Iterable[str] = ()) -> list[str]:
    """Return the reasons why a results file is not valid.

    Parameters
    ----------
    path : Path
        The file.
    required : iterable of str
        Identifiers that the file must contain as required entries.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        entries = [Entry(**each) for each in content["entries"]]
        results = Results(content["kind"], content["subject"], entries)
        if content["format"] != FORMAT:
            return [f"expected format {FORMAT}, got {content['format']}"]
        found = []
        if content["digest"] != digest(content):
            found.append("the digest differs from the content: the file was changed")
        if content["totals"] != results.totals():
            found.append("the totals differ from the entries")
    except OSError as error:
        return [f"expected a results file: {error.strerror}"]
    except (ValueError, KeyError, TypeError) as error:
        return [f"expected a results file, got {type(error).__name__}: {error}"]
    seen = Counter(entry.id for entry in entries)
    found += [f"{identifier}: {count} entries" for identifier, count in seen.items() if count > 1]
    found += [
        f"{entry.id}: unknown verdict {entry.verdict!r}"
        for entry in entries
        if entry.verdict not in VERDICTS
    ]
    have = {entry.id for entry in entries if entry.required}
    missing = [identifier for identifier in sorted(required) if identifier not in have]
    found += [f"{identifier}: required, but missing" for identifier in missing[:_MOST_MISSING]]
    if len(missing) > _MOST_MISSING:
        more = len(missing) - _MOST_MISSING
        found.append(f"{more} more required cases are missing; a run with --only is not complete")
    return found
