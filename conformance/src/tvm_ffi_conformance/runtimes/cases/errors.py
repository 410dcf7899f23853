# SPDX-License-Identifier: Apache-2.0
"""Cases: error objects, the error slot of a thread, backtraces."""

from __future__ import annotations

import ctypes
import threading

from ... import abi
from ..case import ABORT_STATUS, Topic, equal, expect
from ..subject import (
    RaisedError,
    Runtime,
    Status,
    byte_array,
    error_cell,
    header,
    read_bytes,
    strong,
)  # fmt: skip

errors = Topic("error", "6.5")

KINDS = [
    "RuntimeError", "ValueError", "TypeError", "KeyError", "IndexError", "AttributeError",
    "AssertionError", "MemoryError", "OverflowError", "InternalError", "EnvErrorAlreadySet", "MyError",
]  # fmt: skip
MESSAGES = [
    ("empty", ""), ("short", "no"), ("of_7_bytes", "seven b"), ("of_8_bytes", "eight by"),
    ("long", "x" * 10000), ("several_lines", "first\nsecond\n"), ("utf8", "größer 😀"),
    ("percent", "%s %d %n"), ("braces", "{} {0}"),
]  # fmt: skip
UPDATE = abi.callback("UpdateBacktrace")


@errors.each("create.kind.{}", KINDS, "An error of any kind name can be made.")
def kinds(runtime: Runtime, kind: str) -> None:
    error = RaisedError(runtime.error(kind, "message", "trace"))
    equal("kind, message, backtrace", (error.kind, error.message, error.backtrace),
          (kind, "message", "trace"))  # fmt: skip


@errors.each("create.message.{}", MESSAGES, "The message is copied as it is.")
def messages(runtime: Runtime, text: str) -> None:
    equal("message", RaisedError(runtime.error("ValueError", text)).message, text)


@errors.each(
    "raise_text.kind.{}",
    KINDS,
    "The pending error has the kind.",
    cites="abi-overview.rst#Raise Exception",
)
def raise_kind(runtime: Runtime, kind: str) -> None:
    runtime.TVMFFIErrorSetRaisedFromCStr(kind.encode(), b"message")
    error = runtime.raised()
    equal("kind and message", error and (error.kind, error.message), (kind, "message"))


@errors.each("raise_text.message.{}", MESSAGES, "The pending error has the message.",
             cites="abi-overview.rst#Raise Exception")  # fmt: skip
def raise_message(runtime: Runtime, text: str) -> None:
    runtime.TVMFFIErrorSetRaisedFromCStr(b"ValueError", text.encode())
    error = runtime.raised()
    equal("message", error and error.message, text)


@errors.each(
    "through_call.{}", KINDS, "An error of a callee reaches the caller unchanged.", cites="7.1"
)
def through_call(runtime: Runtime, kind: str) -> None:
    handle = runtime.error(kind, "of the callee", '  File "a.py", line 1, in f\n')

    def body(views: list) -> Status:
        runtime.TVMFFIErrorSetRaised(handle)
        return Status(-1)

    with runtime.fails(kind, "of the callee"):
        runtime.call(runtime.make(body))
    equal("strong count", strong(handle), 2)


PARTS = [
    ("none", [], ""), ("one", [b"a"], "a"), ("three", [b"a", b"bc", b"d"], "abcd"),
    ("empty_part", [b"a", b"", b"d"], "ad"), ("null_part", [b"a", None, b"d"], "ad"),
    ("null_only", [None], ""), ("null_first", [None, b"x"], "x"), ("many", [b"xy"] * 500, "xy" * 500),
]  # fmt: skip


@errors.each("parts.{}", PARTS, "The message is the concatenation; null parts are skipped.")
def parts(runtime: Runtime, given: list, expected: str) -> None:
    array = (ctypes.c_char_p * max(1, len(given)))(*given)
    runtime.TVMFFIErrorSetRaisedFromCStrParts(b"TypeError", array, len(given))
    error = runtime.raised()
    equal("kind and message", error and (error.kind, error.message), ("TypeError", expected))


@errors.case("slot.empty", "Taking from an empty slot gives null.")
def slot_empty(runtime: Runtime) -> None:
    out = ctypes.c_void_p(0x55)
    runtime.TVMFFIErrorMoveFromRaised(ctypes.byref(out))
    equal("handle", out.value, None)


@errors.case(
    "slot.taken_once", "Taking clears the slot.", cites="abi-overview.rst#Retrieve Error Object"
)
def taken_once(runtime: Runtime) -> None:
    runtime.TVMFFIErrorSetRaisedFromCStr(b"ValueError", b"once")
    expect(runtime.raised(), "expected a pending error")
    equal("second take", runtime.raised(), None)


@errors.case("slot.replaced", "Setting replaces the pending error.", cites="7.1")
def replaced(runtime: Runtime) -> None:
    first = runtime.error("ValueError", "first")
    runtime.TVMFFIErrorSetRaised(first)
    runtime.TVMFFIErrorSetRaisedFromCStr(b"TypeError", b"second")
    error = runtime.raised()
    equal("message", error and error.message, "second")
    equal("strong count of the replaced error", strong(first), 1)


@errors.case("slot.set_adds_reference", "Setting adds a reference; the caller keeps its own.")
def set_reference(runtime: Runtime) -> None:
    handle = runtime.error("ValueError", "m")
    runtime.TVMFFIErrorSetRaised(handle)
    equal("strong count while pending", strong(handle), 2)


@errors.case("slot.take_transfers", "Taking transfers the reference.")
def take_transfers(runtime: Runtime) -> None:
    handle = runtime.error("ValueError", "m")
    runtime.TVMFFIErrorSetRaised(handle)
    error = runtime.raised()
    equal("handle", error and error.handle, handle)
    equal("strong count after the take", strong(handle), 2)


@errors.case("slot.per_thread", "Each thread has its own slot.", cites="6.1")
def per_thread(runtime: Runtime) -> None:
    seen: list = []
    runtime.TVMFFIErrorSetRaisedFromCStr(b"ValueError", b"main")

    def other() -> None:
        seen.append(runtime.raised())
        runtime.TVMFFIErrorSetRaisedFromCStr(b"TypeError", b"other")
        error = runtime.raised()
        seen.append(error and error.message)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    equal("errors that the other thread saw", seen, [None, "other"])
    error = runtime.raised()
    equal("message in the first thread", error and error.message, "main")


@errors.case("slot.thread_end", "A thread may end with a pending error.", cites="6.1")
def thread_end(runtime: Runtime) -> None:
    handle = runtime.error("ValueError", "m")
    thread = threading.Thread(target=lambda: runtime.TVMFFIErrorSetRaised(handle))
    thread.start()
    thread.join()
    equal("error in this thread", runtime.raised(), None)


@errors.case(
    "slot.success_leaves_empty", "A call that succeeds leaves the slot empty.", cites="6.1"
)
def success(runtime: Runtime) -> None:
    runtime.string(b"abcdefgh")
    equal("pending error", runtime.raised(), None)


@errors.case("create.header", "An error has the index 67 and one reference.", cites="8")
def create_header(runtime: Runtime) -> None:
    handle = runtime.error("ValueError", "m")
    equal("type index", header(handle).type_index, abi.kTVMFFIError)
    equal("combined count", header(handle).combined_ref_count, abi.REFERENCE_COUNT["Initial"])


@errors.case("create.copied", "Kind, message and backtrace are copied.")
def create_copied(runtime: Runtime) -> None:
    arrays = [byte_array(each) for each in (b"ValueError", b"message", b"trace")]
    out = ctypes.c_void_p()
    runtime.TVMFFIErrorCreate(*map(ctypes.byref, arrays), ctypes.byref(out))
    for each in arrays:
        ctypes.memset(each.data, 0x58, each.size)
    error = RaisedError(out.value)
    equal(
        "content", (error.kind, error.message, error.backtrace), ("ValueError", "message", "trace")
    )


@errors.case("create.null_data", "`data` may be null when `size` is 0.", cites="6.1")
def create_null(runtime: Runtime) -> None:
    out = ctypes.c_void_p()
    empty = byte_array(None)
    kind = byte_array(b"ValueError")
    runtime.TVMFFIErrorCreate(
        ctypes.byref(kind), ctypes.byref(empty), ctypes.byref(empty), ctypes.byref(out)
    )
    error = RaisedError(out.value)
    equal("message and backtrace", (error.message, error.backtrace), ("", ""))


def with_cause(runtime: Runtime, cause: int | None, extra: int | None) -> int:
    """Return an error with a cause and an extra context."""
    out = ctypes.c_void_p()
    arrays = [byte_array(each) for each in (b"ValueError", b"m", b"")]
    status = runtime.TVMFFIErrorCreateWithCauseAndExtraContext(
        *map(ctypes.byref, arrays), cause, extra, ctypes.byref(out)
    )
    equal("status", status, 0)
    return out.value


CAUSE = {"since": "0.1.8"}


@errors.case("cause.none", "Cause and extra context may be null.", **CAUSE)
def cause_none(runtime: Runtime) -> None:
    content = error_cell(with_cause(runtime, None, None))
    equal("cause and context", (content.cause_chain, content.extra_context), (None, None))


@errors.case("cause.create_leaves_null", "TVMFFIErrorCreate leaves both null.", **CAUSE)
def cause_default(runtime: Runtime) -> None:
    content = error_cell(runtime.error("ValueError", "m"))
    equal("cause and context", (content.cause_chain, content.extra_context), (None, None))


@errors.case(
    "cause.both", "Cause and extra context are stored and get one reference each.", **CAUSE
)
def cause_both(runtime: Runtime) -> None:
    cause, extra = runtime.error("TypeError", "inner"), runtime.opaque()
    content = error_cell(with_cause(runtime, cause, extra))
    equal("cause and context", (content.cause_chain, content.extra_context), (cause, extra))
    equal("strong counts", (strong(cause), strong(extra)), (2, 2))


@errors.case(
    "cause.released_with_error", "Cause and extra context are released with the error.", **CAUSE
)
def cause_released(runtime: Runtime) -> None:
    cause, extra = runtime.error("TypeError", "inner"), runtime.opaque()
    runtime.TVMFFIObjectDecRef(with_cause(runtime, cause, extra))
    equal("strong counts", (strong(cause), strong(extra)), (1, 1))


@errors.case("cause.chain", "A cause may have a cause.", **CAUSE)
def cause_chain(runtime: Runtime) -> None:
    inner = runtime.error("TypeError", "inner")
    middle = with_cause(runtime, inner, None)
    outer = with_cause(runtime, middle, None)
    runtime.TVMFFIObjectDecRef(middle)
    runtime.TVMFFIObjectDecRef(outer)
    equal("strong count of the innermost error", strong(inner), 1)


def update(runtime: Runtime, handle: int, text: bytes, mode: int) -> str:
    """Call `update_backtrace` and return the backtrace."""
    address = error_cell(handle).update_backtrace
    expect(address, "update_backtrace: expected a function, got null")
    UPDATE(address)(handle, ctypes.addressof(runtime.keep(byte_array(text))), mode)
    return read_bytes(error_cell(handle).backtrace).decode()


UPDATES = [
    ("replace", "old\n", b"new\n", 0, "new\n"), ("append", "old\n", b"new\n", 1, "old\nnew\n"),
    ("replace_empty", "", b"new\n", 0, "new\n"), ("append_to_empty", "", b"new\n", 1, "new\n"),
    ("replace_with_empty", "old\n", b"", 0, ""), ("append_empty", "old\n", b"", 1, "old\n"),
    ("append_long", "o" * 100, b"n" * 5000, 1, "o" * 100 + "n" * 5000),
]  # fmt: skip


@errors.each(
    "backtrace.update.{}", UPDATES, "update_backtrace: mode 0 replaces, 1 appends.", cites="7.1"
)
def updates(runtime: Runtime, old: str, new: bytes, mode: int, expected: str) -> None:
    equal("backtrace", update(runtime, runtime.error("E", "m", old), new, mode), expected)


@errors.case(
    "backtrace.update.keeps_rest", "update_backtrace leaves kind and message.", cites="7.1"
)
def update_keeps(runtime: Runtime) -> None:
    handle = runtime.error("ValueError", "message", "old")
    update(runtime, handle, b"new" * 100, 0)
    error = RaisedError(handle)
    equal("kind and message", (error.kind, error.message), ("ValueError", "message"))


@errors.case("backtrace.given_frame_first", "The given frame comes first, in the form of a frame line.",
             cites="7.2")  # fmt: skip
def given_frame(runtime: Runtime) -> None:
    address = runtime.TVMFFIBacktrace(b"kernel.py", 17, b"launch", 0)
    text = read_bytes(abi.TVMFFIByteArray.from_address(address)).decode()
    equal("first line", text.splitlines()[:1], ['  File "kernel.py", line 17, in launch'])


@errors.case("backtrace.lines", "Each line is a frame: two spaces, File, line, in.", cites="7.2")
def lines(runtime: Runtime) -> None:
    address = runtime.TVMFFIBacktrace(b"kernel.py", 17, b"launch", 1)
    text = read_bytes(abi.TVMFFIByteArray.from_address(address)).decode()
    wrong = [each for each in text.splitlines() if not each.startswith('  File "')]
    equal("lines in another form", wrong, [])
    expect(text.endswith("\n"), "expected a newline after the last line")


@errors.case("backtrace.null_names", "File name and function name may be null.", cites="7.2")
def null_names(runtime: Runtime) -> None:
    expect(
        runtime.TVMFFIBacktrace(None, 0, None, 0), "TVMFFIBacktrace: expected a pointer, got null"
    )


ABORTS = [
    ("type_info_unregistered", lambda runtime: runtime.TVMFFIGetTypeInfo(127)),
    ("type_info_negative", lambda runtime: runtime.TVMFFIGetTypeInfo(-5)),
    ("type_info_huge", lambda runtime: runtime.TVMFFIGetTypeInfo(2**31 - 1)),
    ("index_without_parent", lambda runtime: runtime.allocate("kit.NoParent", -1, depth=0)),
    ("index_of_wrong_depth", lambda runtime: runtime.allocate("kit.Depth", depth=4)),
    ("static_index_in_use", lambda runtime: runtime.allocate("kit.Static", static=71)),
    ("static_index_too_high", lambda runtime: runtime.allocate("kit.High", static=1 << 20)),
]  # fmt: skip


@errors.each("abort.{}", ABORTS, "An abort-style function prints its name and exits with status 255.",
             cites="6.1", ends=ABORT_STATUS)  # fmt: skip
def aborts(runtime: Runtime, call: object) -> None:
    call(runtime)
