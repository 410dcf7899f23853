# SPDX-License-Identifier: Apache-2.0
"""Cases of the kit: identifiers, cited sections, must-pass lists, results, our runtime."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "conformance" / "src"
sys.path.insert(0, str(SOURCE))

from tvm_ffi_conformance.__main__ import main  # noqa: E402
from tvm_ffi_conformance.documents import DOCUMENTS, section  # noqa: E402
from tvm_ffi_conformance.matrix import read_reasons  # noqa: E402
from tvm_ffi_conformance.results import problems  # noqa: E402
from tvm_ffi_conformance.runtimes import hashing  # noqa: E402
from tvm_ffi_conformance.runtimes.case import load_cases  # noqa: E402
from tvm_ffi_conformance.runtimes.run import MUSTPASS, must_pass, must_pass_lines, run_runtime  # noqa: E402

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "design" / "differences.md"


@pytest.fixture(scope="module")
def cases():
    return load_cases()


@pytest.fixture(scope="module")
def runtime():
    from tvm_ffi import libinfo

    return libinfo.find_libtvm_ffi()


@pytest.fixture(scope="module")
def results(runtime):
    return run_runtime(runtime, limit=30)


def test_there_are_enough_cases(cases):
    assert len(cases) >= 1500


def test_identifiers_are_words_joined_by_dots(cases):
    assert [each for each in cases if not re.fullmatch(r"[a-z]+(\.\w+)+", each)] == []


def test_every_case_cites_a_heading_of_the_documents(cases):
    for case in cases.values():
        assert case.section.heading in DOCUMENTS[case.section.document]
        assert case.rule.rstrip().endswith(".")


def test_unknown_heading_is_an_error():
    with pytest.raises(LookupError, match="expected a heading"):
        section("99.9")


def test_must_pass_lists_agree_with_the_cases(cases):
    expected = must_pass_lines(cases)
    found = {
        path.stem: path.read_text(encoding="utf-8").splitlines() for path in MUSTPASS.glob("*.txt")
    }
    assert found == expected
    assert must_pass((0, 1, 16)) == {case.id for case in cases.values() if case.until is None}
    assert "bigint.from_words.empty" not in must_pass((0, 1, 13))


def test_hash_oracles_give_the_vectors_of_the_contract():
    assert hashing.key(b"ffi.Array") == 9300778484448642049
    assert hashing.stable(b"The quick brown fox jumps over the lazy dog") == 1278762651


def test_our_runtime_passes_all_but_the_documented_differences(results):
    expected = read_reasons(HERE / "differences.txt")
    assert {entry.id: entry.detail for entry in results.failures}.keys() == expected.keys()


def test_each_difference_names_an_entry_of_the_page():
    page = set(re.findall(r"^\*\*(.+)\*\*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert set(read_reasons(HERE / "differences.txt").values()) - page == set()


def test_no_fork_gives_the_same_verdicts(runtime):
    pattern = r"^string\.small\.length_[17]\.bits$|^error\.abort\.index_of_wrong_depth$"
    found = {
        entry.id: entry.verdict
        for entry in run_runtime(runtime, pattern=pattern, fork=False).entries
    }
    assert set(found.values()) == {"pass"}
    assert len(found) == 3


def test_results_file_is_verified_and_damage_is_found(runtime, results, tmp_path, capsys):
    path = tmp_path / "results.json"
    results.write(path)
    assert main(["verify", str(path)]) == 0
    assert "valid; runtime" in capsys.readouterr().out
    content = json.loads(path.read_text(encoding="utf-8"))
    first = next(entry for entry in content["entries"] if entry["verdict"] != "pass")
    first["verdict"] = "pass"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert main(["verify", str(path)]) == 1
    assert "the digest differs" in capsys.readouterr().err
    assert problems(tmp_path / "none.json")[0].startswith("expected a results file")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "("], "expected a regular expression"),
        (["--level", "9"], "expected a level such as 0.1.8, got '9'"),
        (["--level", "0.1.99"], "expected a level from 0.1.0 to 0.1.16"),
        (["--limit", "-1"], "expected a number of seconds, got '-1'"),
    ],
)
def test_wrong_option_is_refused(options, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["runtime", "libtvm_ffi.so", *options])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_results_of_some_cases_are_not_complete(runtime, tmp_path, capsys):
    """The message is short: a list of 3,000 identifiers hides the reason."""
    path = tmp_path / "some.json"
    assert main(["runtime", runtime, "--only", r"^string\.small", "--json", str(path)]) == 0
    capsys.readouterr()
    assert main(["verify", str(path)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert lines[-1].endswith("cases are missing; a run with --only is not complete")


def test_pattern_that_matches_no_case(runtime, capsys):
    assert main(["runtime", runtime, "--only", "nothing.like.this"]) == 2
    assert "no case matches" in capsys.readouterr().out


def test_command_writes_json_junit_and_page(runtime, tmp_path, capsys):
    """The command creates the folders of its files."""
    files = [tmp_path / "reports" / name for name in ("a.json", "a.xml", "a.html")]
    status = main(["runtime", runtime, "--only", r"^string\.small", "--json", str(files[0]),
                   "--junit", str(files[1]), "--html", str(files[2])])  # fmt: skip
    assert status == 0
    assert "16 of 16 required passed" in capsys.readouterr().out
    suite = ElementTree.parse(files[1]).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("16", "0")
    page = files[2].read_text(encoding="utf-8")
    assert "6.3 Strings, bytes, integers, dtype" in page
    assert page.count("<tr id=") == 16
