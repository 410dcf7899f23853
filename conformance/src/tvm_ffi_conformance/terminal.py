# SPDX-License-Identifier: Apache-2.0
"""Terminal output of results: a table by topic, then the failures with rule and command."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .results import Entry, Results

_MOST_FAILURES = 40


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[str], None]]:
    """Show the number of finished cases on a terminal; yield the function that counts one."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda identifier: None
        return
    columns = TextColumn("{task.completed} " + name), TextColumn("{task.description}")
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda identifier: progress.update(task, advance=1, description=identifier)


def print_results(results: Results, *, everything: bool = False) -> None:
    """Print results.

    Parameters
    ----------
    results : Results
        The results.
    everything : bool
        Print each entry instead of the failures only.
    """
    console = Console(soft_wrap=True)
    subject = results.subject
    facts = [f"level {subject['level']}"] if "level" in subject else []
    facts += [subject[key] for key in ("soname", "machine") if subject.get(key)]
    facts += [f"needs {subject['needs']}"] if subject.get("needs") else []
    console.print(f"[bold]{escape(subject['path'])}[/]  {escape(', '.join(facts))}")
    if subject.get("load_error"):
        console.print(f"[bold red]not loaded[/]: {escape(subject['load_error'])}")
        return
    if not results.entries:
        console.print("[bold red]no case matches[/]")
        return
    groups = _by_topic(results)
    console.print(_topics(groups))
    for topic, entries in groups.items():
        shown = [each for each in entries if everything or each.failed or each.verdict == "not run"]
        for entry in shown if everything else shown[:_MOST_FAILURES]:
            _print_entry(console, entry)
        if not everything and len(shown) > _MOST_FAILURES:
            console.print(
                f"... {len(shown) - _MOST_FAILURES} more failures of {topic}; "
                f"--only '^{topic}' --all prints them",
                highlight=False,
            )
    advice = [
        entry.id for entry in results.entries if not entry.required and entry.verdict != "pass"
    ]
    if advice and not everything and results.kind != "runtime":
        console.print(f"not required and not passed: {', '.join(advice)}; --all prints them")
    totals = results.totals()
    color = "red" if totals["failed"] else "green"
    console.print(
        f"[bold {color}]{totals['required'] - totals['failed']} of {totals['required']} required "
        f"passed[/]; {len(results.entries)} in total, {totals['pass']} passed"
    )


def _by_topic(results: Results) -> dict[str, list[Entry]]:
    """Return the entries by topic; in a library, each function is a topic."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in results.entries:
        topic, _, rest = entry.id.partition(".")
        if results.kind == "library" and topic in ("call", "checked"):
            topic += "." + rest.partition(".")[0]
        groups[topic].append(entry)
    return groups


def _topics(groups: dict[str, list[Entry]]) -> Table:
    """Return the table of topics: cases, verdicts and required failures."""
    table = Table("topic", "cases", "pass", "fail", "crash", "hang", "absent", "required failures")
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.justify = "right"
    for topic, entries in groups.items():
        count = defaultdict(int)
        for entry in entries:
            count[entry.verdict] += 1
        failed = sum(entry.failed for entry in entries)
        table.add_row(
            topic, str(len(entries)), *(str(count[each] or "") for each in ("pass", "fail")),
            str(count["crash"] + count["exit"] or ""), str(count["hang"] or ""),
            str(count["absent"] + count["not run"] or ""), f"[red]{failed}[/]" if failed else "",
        )  # fmt: skip
    return table


def _print_entry(console: Console, entry: Entry) -> None:
    color = "green" if entry.verdict == "pass" else "red" if entry.required else "yellow"
    console.print(f"[{color}]{entry.verdict}[/] [bold]{escape(entry.id)}[/]")
    if entry.verdict != "pass":
        for name, text in (
            ("where", entry.where),
            ("rule", f"{entry.rule} ({entry.document}: {entry.heading})"),
            ("found", entry.detail),
            ("repeat", entry.repeat),
        ):
            if text:
                console.print(f"    {name}: {escape(text)}", highlight=False)
