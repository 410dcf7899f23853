// SPDX-License-Identifier: Apache-2.0
// Error objects and the error slot of each thread.
#include <doctest/doctest.h>

#include <string>
#include <thread>

#include "raised.h"
#include "threads.h"
#include "values.h"

namespace {

TVMFFIObjectHandle NewError(const char* kind, const char* message, const char* backtrace,
                            TVMFFIObjectHandle cause = nullptr,
                            TVMFFIObjectHandle context = nullptr) {
  TVMFFIByteArray parts[] = {Bytes(kind), Bytes(message), Bytes(backtrace)};
  TVMFFIObjectHandle error = nullptr;
  CHECK_EQ(TVMFFIErrorCreateWithCauseAndExtraContext(&parts[0], &parts[1], &parts[2], cause,
                                                     context, &error),
           0);
  return error;
}

TVMFFIObjectHandle Take() {
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  return error;
}

void Update(TVMFFIObjectHandle error, const TVMFFIByteArray& text, int32_t mode) {
  TVMFFIErrorGetCellPtr(error)->update_backtrace(error, &text, mode);
}

std::string BacktraceOf(TVMFFIObjectHandle error) {
  return Text(TVMFFIErrorGetCellPtr(error)->backtrace);
}

}  // namespace

TEST_CASE("a created error holds copies of its strings") {
  std::string kind = "ValueError", message = "a message long enough for the heap";
  TVMFFIByteArray k = Bytes(kind), m = Bytes(message), b = {nullptr, 0};
  TVMFFIObjectHandle error = nullptr;
  CHECK_EQ(TVMFFIErrorCreate(&k, &m, &b, &error), 0);
  kind.assign(kind.size(), '?');
  message.assign(message.size(), '?');
  const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
  CHECK_EQ(TVMFFIObjectGetTypeIndex(error), 67);
  CHECK_EQ(Text(cell->kind), "ValueError");
  CHECK_EQ(Text(cell->message), "a message long enough for the heap");
  CHECK_EQ(Text(cell->backtrace), "");
  CHECK((cell->update_backtrace != nullptr));
  CHECK(cell->cause_chain == nullptr);
  CHECK(cell->extra_context == nullptr);
  CHECK(!IsErrorPending());  // the creation of an error does not raise the error
  TVMFFIObjectDecRef(error);
}

TEST_CASE("cause and context are retained while the error lives") {
  TVMFFIObjectHandle cause = NewError("KeyError", "cause", "");
  TVMFFIObjectHandle context = NewOpaque(nullptr, nullptr);
  TVMFFIObjectHandle error = NewError("ValueError", "effect", "", cause, context);
  CHECK_EQ(TVMFFIErrorGetCellPtr(error)->cause_chain, cause);
  CHECK_EQ(TVMFFIErrorGetCellPtr(error)->extra_context, context);
  CHECK_EQ(StrongCount(cause), 2u);
  CHECK_EQ(StrongCount(context), 2u);
  TVMFFIObjectDecRef(error);
  CHECK_EQ(StrongCount(cause), 1u);
  CHECK_EQ(StrongCount(context), 1u);
  TVMFFIObjectDecRef(cause);
  TVMFFIObjectDecRef(context);
}

TEST_CASE("a context that is replaced in the cell is released with the error") {
  TVMFFIObjectHandle error = NewError("ValueError", "m", "");
  TVMFFIObjectHandle context = NewOpaque(nullptr, nullptr);
  TVMFFIObjectIncRef(context);
  TVMFFIErrorGetCellPtr(error)->extra_context = context;  // like C++ clients
  TVMFFIObjectDecRef(error);
  CHECK_EQ(StrongCount(context), 1u);
  TVMFFIObjectDecRef(context);
}

TEST_CASE("the slot is empty at first and after the error is taken") {
  CHECK(Take() == nullptr);
  TVMFFIErrorSetRaisedFromCStr("ValueError", "m");
  TVMFFIObjectHandle error = Take();
  CHECK(error != nullptr);
  CHECK_EQ(StrongCount(error), 1u);
  CHECK(Take() == nullptr);
  TVMFFIObjectDecRef(error);
}

TEST_CASE("raising shares the error with its caller") {
  TVMFFIObjectHandle error = NewError("ValueError", "m", "");
  TVMFFIErrorSetRaised(error);
  CHECK_EQ(StrongCount(error), 2u);
  TVMFFIObjectHandle taken = Take();
  CHECK_EQ(taken, error);
  CHECK_EQ(StrongCount(error), 2u);
  TVMFFIObjectDecRef(taken);
  TVMFFIObjectDecRef(error);
}

TEST_CASE("raising again replaces the pending error") {
  TVMFFIObjectHandle first = NewError("ValueError", "first", "");
  TVMFFIErrorSetRaised(first);
  TVMFFIErrorSetRaisedFromCStr("KeyError", "second");
  CHECK_EQ(StrongCount(first), 1u);
  CHECK_EQ(TakeRaised().message, "second");
  TVMFFIObjectDecRef(first);
}

// Regression: the earlier error was released after the new one had been stored, and a call in its
// destructor replaced or took the new error.
TEST_CASE("destructors of the earlier error may make calls that fail") {
  auto raise = [](void*) { TVMFFIErrorSetRaisedFromCStr("KeyError", "of the destructor"); };
  auto raise_and_take = [](void*) {
    TVMFFIErrorSetRaisedFromCStr("KeyError", "of the destructor");
    TakeRaised();
  };
  for (void (*deleter)(void*) : {+raise, +raise_and_take}) {
    TVMFFIObjectHandle context = NewOpaque(nullptr, deleter);
    TVMFFIObjectHandle earlier = NewError("ValueError", "earlier", "", nullptr, context);
    TVMFFIObjectDecRef(context);
    TVMFFIErrorSetRaised(earlier);
    TVMFFIObjectDecRef(earlier);
    TVMFFIErrorSetRaisedFromCStr("TypeError", "later");
    CHECK_EQ(TakeRaised().message, "later");
    CHECK(!IsErrorPending());
  }
}

namespace {

TVMFFIObjectHandle kept_error = nullptr;

// Raises an error whose destructor raises an error in the same way.
void RaiseAgain(void*) {
  TVMFFIObjectHandle context = NewOpaque(nullptr, &RaiseAgain);
  TVMFFIObjectHandle error = NewError("KeyError", "again", "", nullptr, context);
  TVMFFIObjectDecRef(context);
  TVMFFIErrorSetRaised(error);
  kept_error = error;
  TVMFFIObjectDecRef(error);
}

}  // namespace

TEST_CASE("errors that raise in their destructors for ever are replaced") {
  RaiseAgain(nullptr);
  TVMFFIErrorSetRaisedFromCStr("TypeError", "later");
  CHECK_EQ(TakeRaised().message, "later");
  CHECK_EQ(StrongCount(kept_error), 1u);  // the error that was raised last
}

TEST_CASE("raising the pending error itself keeps it") {
  TVMFFIObjectHandle error = NewError("ValueError", "m", "");
  TVMFFIErrorSetRaised(error);
  TVMFFIErrorSetRaised(error);
  CHECK_EQ(StrongCount(error), 2u);
  TVMFFIObjectDecRef(Take());
  TVMFFIObjectDecRef(error);
}

TEST_CASE("raising from a string copies it and adds a backtrace") {
  std::string kind = "MyError", message = "what happened";
  TVMFFIErrorSetRaisedFromCStr(kind.c_str(), message.c_str());
  kind.clear();
  message.clear();
  RaisedError raised = TakeRaised();
  CHECK_EQ(raised.kind, "MyError");
  CHECK_EQ(raised.message, "what happened");
  CHECK_EQ(raised.backtrace.substr(0, 8), "  File \"");
}

TEST_CASE("raising without a message gives an empty message") {
  TVMFFIErrorSetRaisedFromCStr("ValueError", nullptr);
  CHECK_EQ(TakeRaised().message, "");
}

TEST_CASE("message parts are joined and null ones skipped") {
  const char* parts[] = {"argument ", nullptr, "#1", "", " is wrong", nullptr};
  TVMFFIErrorSetRaisedFromCStrParts("TypeError", parts, 6);
  RaisedError raised = TakeRaised();
  CHECK_EQ(raised.kind, "TypeError");
  CHECK_EQ(raised.message, "argument #1 is wrong");
  TVMFFIErrorSetRaisedFromCStrParts("TypeError", nullptr, 0);
  CHECK_EQ(TakeRaised().message, "");
}

TEST_CASE("each thread has its own slot") {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "main");
  std::thread([] {
    CHECK(!IsErrorPending());
    TVMFFIErrorSetRaisedFromCStr("KeyError", "other");
    CHECK_EQ(TakeRaised().message, "other");
  }).join();
  CHECK_EQ(TakeRaised().message, "main");
}

TEST_CASE("an error that is not taken is released with its thread") {
  TVMFFIObjectHandle error = NewError("ValueError", "m", "");
  std::thread([&] { TVMFFIErrorSetRaised(error); }).join();
  CHECK_EQ(StrongCount(error), 1u);
  TVMFFIObjectDecRef(error);
}

TEST_CASE("threads raise and take without mixing their errors") {
  RunTogether(8, [](int i) {
    std::string message = "from thread " + std::to_string(i);
    for (int round = 0; round < 50; ++round) {
      TVMFFIErrorSetRaisedFromCStr("ValueError", message.c_str());
      CHECK_EQ(TakeRaised().message, message);
    }
  });
}

TEST_CASE("a backtrace is replaced or appended to") {
  TVMFFIObjectHandle error = NewError("ValueError", "m", "one\n");
  Update(error, Bytes("two\n"), kTVMFFIBacktraceUpdateModeAppend);
  CHECK_EQ(BacktraceOf(error), "one\ntwo\n");
  Update(error, Bytes("three\n"), kTVMFFIBacktraceUpdateModeReplace);
  CHECK_EQ(BacktraceOf(error), "three\n");
  Update(error, {nullptr, 0}, kTVMFFIBacktraceUpdateModeAppend);
  CHECK_EQ(BacktraceOf(error), "three\n");
  Update(error, {nullptr, 0}, kTVMFFIBacktraceUpdateModeReplace);
  CHECK_EQ(BacktraceOf(error), "");
  TVMFFIObjectDecRef(error);
}

// Regression: the old text was cleared before the new one, which may be part of it, was read.
TEST_CASE("a backtrace may be replaced by part of itself") {
  TVMFFIObjectHandle error = NewError("ValueError", "m", "first line\nsecond line\n");
  TVMFFIByteArray whole = TVMFFIErrorGetCellPtr(error)->backtrace;
  Update(error, {whole.data, 11}, kTVMFFIBacktraceUpdateModeReplace);
  CHECK_EQ(BacktraceOf(error), "first line\n");
  Update(error, TVMFFIErrorGetCellPtr(error)->backtrace, kTVMFFIBacktraceUpdateModeAppend);
  CHECK_EQ(BacktraceOf(error), "first line\nfirst line\n");
  TVMFFIObjectDecRef(error);
}
