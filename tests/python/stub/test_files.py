# SPDX-License-Identifier: Apache-2.0
"""Source files with marker blocks: parsing, errors, and updates that keep the rest of the file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tvm_ffi.stub import consts
from tvm_ffi.stub._stubgen.source_file import find_files
from tvm_ffi.stub._stubgen.text_file import Line, TextFile
from tvm_ffi.stub.file_utils import CodeBlock, FileInfo, collect_files, path_walk, syntax_for

BEGIN, END = "# tvm-ffi-stubgen(begin):", "# tvm-ffi-stubgen(end)"
BLOCK = f"{BEGIN} __all__\n{END}\n"


def names_in(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def info_of(path, content: str | bytes) -> FileInfo:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    info = FileInfo.from_file(path)
    assert info is not None
    return info


def test_markers_of_both_languages():
    python, rust = consts.PYTHON_SYNTAX, consts.RUST_SYNTAX
    assert (python.begin, python.end) == (BEGIN, END)
    assert (rust.begin, rust.end) == (
        "// tvm-ffi-stubgen(begin):",
        "// tvm-ffi-stubgen(end)",
    )
    assert python.ty_map == "# tvm-ffi-stubgen(ty-map):"
    assert python.import_object == "# tvm-ffi-stubgen(import-object):"
    assert python.skip_file == "# tvm-ffi-stubgen(skip-file)"


@pytest.mark.parametrize(
    ("line", "kind", "param"),
    [
        (f"{BEGIN} global/a.b@c.d", "global", ("a.b", "c.d")),
        (f"{BEGIN} global/a.b", "global", ("a.b", "")),
        (f"{BEGIN} object/ a.B ", "object", "a.B"),
        (f"{BEGIN} object/has space.x-y", "object", "has space.x-y"),
        (f"{BEGIN} import-section", "import-section", ""),
        (f"{BEGIN} export/_ffi_api", "export", "_ffi_api"),
        (f"{BEGIN} __all__", "__all__", ""),
        ("# tvm-ffi-stubgen(ty-map): A -> B", "directive", ("ty-map", "A -> B")),
    ],
)
def test_marker_lines(line, kind, param):
    block = CodeBlock.from_begin_line(3, line, consts.PYTHON_SYNTAX)
    assert (block.kind, block.param, block.lineno_start) == (kind, param, 3)


def test_blocks_of_a_file(tmp_path):
    text = f"x = 1\n  {BEGIN} object/a.B\n  old\n  {END}\n# tvm-ffi-stubgen(prefix): q\n"
    info = info_of(tmp_path / "a.py", text)
    assert info.lines == tuple(text.splitlines())
    assert [
        (b.kind, b.param, b.lineno_start, b.lineno_end, b.indent) for b in info.code_blocks
    ] == [
        (None, "", 1, 1, 0),
        ("object", "a.B", 2, 4, 2),
        ("directive", ("prefix", "q"), 5, 5, 0),
    ]
    assert info.code_blocks[1].lines == [f"  {BEGIN} object/a.B", "  old", f"  {END}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{BLOCK}x\n{END}\n", "Unmatched .* line 4"),
        (f"x\n{BEGIN} __all__\n{BEGIN} __all__\n{END}\n", "Nested .* line 3"),
        (f"x\n{BEGIN} __all__\n# tvm-ffi-stubgen(skip): a\n{END}\n", "Nested .* line 3"),
        (f"x\ny\n{BEGIN} __all__\n", "Unclosed .* line 3"),
        (f"x\n{BEGIN} nope/a\n{END}\n", "Unknown stub type `nope/a` at line 2"),
        (f"{BEGIN} object\n{END}\n", "Unknown stub type `object` at line 1"),
        (f"{BEGIN} object/\n{END}\n", "Unknown stub type `object/` at line 1"),
        (f"{BEGIN} __all__/x\n{END}\n", "Unknown stub type `__all__/x` at line 1"),
        ("# tvm-ffi-stubgen(begin)\n", "Unknown stub type at line 1"),
        ("# tvm-ffi-stubgen(ty-map)\n", "Unknown stub type at line 1"),
        (f"{END} # really\n", "Unknown stub type at line 1"),
    ],
)
def test_wrong_markers_are_refused_with_the_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        info_of(tmp_path / "a.py", text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x\n# \xff\n" + BLOCK.encode(), r"0xff is not utf-8 text \(line 2\)"),
        (b"# coding: nonsense\n" + BLOCK.encode(), r"nonsense .*line 1"),
    ],
)
def test_undecodable_files_are_refused_with_the_line(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        info_of(tmp_path / "a.py", content)


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n",
        "",
        "# tvm-ffi-stubgen is a tool\n#tvm-ffi-stubgen(end)\nx = 1  # tvm-ffi-stubgen(end)\n",
        f"{BLOCK}# tvm-ffi-stubgen(skip-file)\n",
        f"# tvm-ffi-stubgen(skip-file)\n{BEGIN} nonsense\n",
    ],
    ids=["no marker", "empty", "no comment line", "skipped in the end", "skipped at first"],
)
def test_files_without_markers_are_ignored(tmp_path, text):
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    assert FileInfo.from_file(tmp_path / "a.py") is None


def test_files_without_markers_on_request(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    info = FileInfo.from_file(tmp_path / "a.py", include_empty=True)
    assert info is not None
    assert [block.lines for block in info.code_blocks] == [["x = 1"]]


# ---- Writing -----------------------------------------------------------------------------------


def filled(info: FileInfo) -> FileInfo:
    info.code_blocks[-1].fill(['"a",', '"b",'])
    return info


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"x\n%B\n%E\n", b'x\n%B\n"a",\n"b",\n%E\n'),
        (b"x\r\n%B\r\n%E\r\n", b'x\r\n%B\r\n"a",\r\n"b",\r\n%E\r\n'),
        (b"x\r%B\r%E\r", b'x\r%B\r"a",\r"b",\r%E\r'),
        (b"x\n%B\n%E", b'x\n%B\n"a",\n"b",\n%E'),
        (b"\xef\xbb\xbf%B\n%E\n", b'\xef\xbb\xbf%B\n"a",\n"b",\n%E\n'),
        (b"x\ny\r\n%B\n%E\n", b'x\ny\r\n%B\n"a",\n"b",\n%E\n'),
        (b"x\x0cy\xe2\x80\xa8z\n%B\n%E\n", b'x\x0cy\xe2\x80\xa8z\n%B\n"a",\n"b",\n%E\n'),
        (
            b"# coding: latin-1\n# \xe4\n%B\n%E\n",
            b'# coding: latin-1\n# \xe4\n%B\n"a",\n"b",\n%E\n',
        ),
        (b"if x:\n\t%B\n\t%E\n", b'if x:\n\t%B\n\t"a",\n\t"b",\n\t%E\n'),
    ],
    ids=["LF", "CRLF", "CR", "no end", "BOM", "mixed", "other separators", "latin-1", "tabs"],
)
def test_the_rest_of_a_file_is_unchanged(tmp_path, old, new):
    def bytes_of(template: bytes) -> bytes:
        return template.replace(b"%B", f"{BEGIN} __all__".encode()).replace(b"%E", END.encode())

    path = tmp_path / "a.py"
    assert filled(info_of(path, bytes_of(old))).update(verbose=False, dry_run=False)
    assert path.read_bytes() == bytes_of(new)
    again = FileInfo.from_file(path)
    assert again is not None
    assert not filled(again).update(verbose=False, dry_run=False)


def test_unchanged_files_are_not_written(tmp_path):
    path = tmp_path / "a.py"
    filled(info_of(path, BLOCK)).update(verbose=False, dry_run=False)
    before = path.stat()
    again = FileInfo.from_file(path)
    assert again is not None
    assert filled(again).update(verbose=False, dry_run=False) is False
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_permissions_and_symbolic_links_are_kept(tmp_path):
    target, link = tmp_path / "a.py", tmp_path / "link.py"
    info_of(target, BLOCK)
    target.chmod(0o640)
    link.symlink_to(target)
    info = FileInfo.from_file(link)
    assert info is not None
    assert filled(info).update(verbose=False, dry_run=False)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert '"a",' in target.read_text(encoding="utf-8")
    assert names_in(tmp_path) == ["a.py", "link.py"]


def test_a_read_only_file_is_refused(tmp_path, monkeypatch):
    """Replacing a file needs only permission to write its folder; root can write every file."""
    info = info_of(tmp_path / "a.py", BLOCK)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(PermissionError, match="the file is read-only"):
        filled(info).update(verbose=False, dry_run=False)
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == BLOCK


def test_devices_are_not_replaced():
    TextFile(Path(os.devnull)).replace([Line("x", "\n")])
    assert not Path(os.devnull).is_file()


def test_a_failed_write_leaves_the_old_file(tmp_path):
    """The text has a letter that does not exist in the encoding of the file."""
    content = f"# coding: latin-1\n{BLOCK}".encode()
    info = info_of(tmp_path / "a.py", content)
    info.code_blocks[-1].fill(["# \u6771"])
    with pytest.raises(UnicodeEncodeError):
        info.update(verbose=False, dry_run=False)
    assert (tmp_path / "a.py").read_bytes() == content
    assert names_in(tmp_path) == ["a.py"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    info = info_of(tmp_path / "a.py", BLOCK)
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        filled(info).update(verbose=False, dry_run=False)
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == BLOCK
    assert names_in(tmp_path) == ["a.py"]


@pytest.mark.parametrize("encoding", ["unicode_escape", "raw_unicode_escape", "utf-7"])
def test_a_file_whose_encoding_is_not_reversible_is_not_written(tmp_path, encoding):
    """Regression: `unicode_escape` encoded the line ends, so the file became one line."""
    path = tmp_path / "file.py"
    content = f"# coding: {encoding}\nx = '\\x41~\\u0042'\n{BLOCK}".encode()
    info = filled(info_of(path, content))
    with pytest.raises(ValueError, match="the encoding '.*' decodes the file to text that it enco"):
        info.update(verbose=False, dry_run=False)
    assert path.read_bytes() == content


def test_a_link_to_itself_is_an_error_of_one_file(tmp_path):
    """Regression: a traceback with "Symlink loop" ended the command."""
    path = tmp_path / "self.py"
    path.symlink_to(path)
    assert find_files([tmp_path, path], {".py"}) == [path]
    with pytest.raises(OSError, match="symbolic links"):
        FileInfo.from_file(path)


def test_reload_reads_the_file_again(tmp_path):
    info = info_of(tmp_path / "a.py", BLOCK)
    (tmp_path / "a.py").write_text(f"x\n{BLOCK}", encoding="utf-8")
    info.reload()
    assert [block.kind for block in info.code_blocks] == [None, "__all__"]


# ---- Finding files -----------------------------------------------------------------------------


def test_files_are_found_once_and_in_order(tmp_path):
    for name in ("z/m.py", "b/c/m.pyi", "b/.hidden/m.py", "b/__pycache__/m.py", "n.txt", "a.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n" if name == "a.py" else BLOCK, encoding="utf-8")
    (tmp_path / "link.py").symlink_to(tmp_path / "z" / "m.py")
    found = collect_files([tmp_path / "z", tmp_path, tmp_path / "n.txt"], {".py", ".pyi"})
    names = [str(info.path.relative_to(tmp_path)) for info in found]
    assert names == ["b/c/m.pyi", "link.py", "n.txt"]


def test_path_walk(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").touch()
    assert list(path_walk(tmp_path)) == [(tmp_path, ["a"], []), (tmp_path / "a", [], ["x"])]
    assert [path for path, _, _ in path_walk(tmp_path, top_down=False)] == [
        tmp_path / "a",
        tmp_path,
    ]


def test_the_suffix_selects_the_syntax(tmp_path):
    assert syntax_for(tmp_path / "a.rs") is consts.RUST_SYNTAX
    assert syntax_for(tmp_path / "a.pyi") is consts.PYTHON_SYNTAX
