// SPDX-License-Identifier: Apache-2.0
// Fuzz target of the C API: arbitrary bytes as a sequence of calls.  Addresses are valid: they are
// those of live objects and terminated strings.  All else may be invalid: types and number of
// arguments, names, flags, indices, sizes, results of callbacks, and their changes to other values.
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstring>
#include <unordered_set>
#include <utility>

#include "c_api_values.h"
#include "fuzz.h"
#include "fuzz_node.h"

namespace fuzz {
static size_t most_bytes = SIZE_MAX;  // Largest size of one allocation.
}

// AddressSanitizer ends the process for very large allocations; they fail with an error here.
void* operator new(size_t size) {
  void* space = size > fuzz::most_bytes ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (space == nullptr) throw std::bad_alloc();
  return space;
}
void* operator new[](size_t size) { return operator new(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void operator delete(void* space) noexcept { std::free(space); }
void operator delete(void* space, size_t) noexcept { std::free(space); }
void operator delete[](void* space) noexcept { std::free(space); }
void operator delete[](void* space, size_t) noexcept { std::free(space); }

namespace fuzz {
namespace {

// Names of the global functions that the fuzz target calls: all except those that take addresses,
// open files, or change types for the rest of the process.
const std::vector<std::string>& GlobalNames() {
  static const auto* names = [] {
    auto* found = new std::vector<std::string>();
    auto list =
        Function::GetGlobalRequired("ffi.FunctionListGlobalNamesFunctor")().cast<Function>();
    for (int i = 0; i < list(-1).cast<int>(); ++i) {
      auto name = list(i).cast<std::string>();
      bool is_left_out = false;
      for (const char* part : {"FromExternC", "MakeField", "Register", "LoadFromFile", "_from_file",
                               "RemoveGlobal", "WriteToFile", "ListGlobalNames"}) {
        is_left_out = is_left_out || name.find(part) != std::string::npos;
      }
      if (!is_left_out) found->push_back(name);
    }
    return found;
  }();
  return *names;
}

// The Lists and Dicts of a session, which may contain themselves. The set owns no references, so
// that a premature release is detected.
class Changeable {
 public:
  // Records the containers that can be reached from a value.
  void Remember(Any value) {
    size_t limit = std::exchange(most_bytes, SIZE_MAX);  // a List may hold a million values
    std::vector<Any> reached{std::move(value)};
    std::unordered_set<const Object*> seen;
    while (!reached.empty()) {
      value = std::move(reached.back());
      reached.pop_back();
      const Object* object = value.as<Object>();
      if (object == nullptr || !seen.insert(object).second) continue;
      AppendParts(value, &reached);
      bool changes = value.type_index() == kTVMFFIList || value.type_index() == kTVMFFIDict;
      if (changes) objects_.emplace_back(value.cast<ObjectPtr<Object>>());
    }
    most_bytes = limit;
  }

  // Empties the containers that are alive, so that no reference cycle remains.
  void Clear() {
    for (const WeakObjectPtr<Object>& object : objects_) {
      ObjectPtr<Object> living = object.lock();
      if (living == nullptr) continue;
      Any value = ObjectRef(std::move(living));
      if (auto list = value.as<List<Any>>()) {
        list->clear();
      } else {
        value.cast<Dict<Any, Any>>().clear();
      }
    }
  }

 private:
  static void AppendParts(const Any& value, std::vector<Any>* out) {
    auto append = [out](const auto& items) { out->insert(out->end(), items.begin(), items.end()); };
    auto append_pairs = [out](const auto& pairs) {
      for (const auto& [key, item] : pairs) out->insert(out->end(), {key, item});
    };
    if (auto array = value.as<Array<Any>>()) append(*array);
    if (auto list = value.as<List<Any>>()) append(*list);
    if (auto map = value.as<Map<Any, Any>>()) append_pairs(*map);
    if (auto dict = value.as<Dict<Any, Any>>()) append_pairs(*dict);
    AppendFields(value, out);
  }

  std::vector<WeakObjectPtr<Object>> objects_;
};

class Session : public Hooks {
 public:
  explicit Session(Input input) : in_(input) {}

  void Run() {
    while (!in_.IsEmpty() && num_calls_ < 300) Step();
    static const Function remove = Function::GetGlobalRequired("ffi.FunctionRemoveGlobal");
    for (char letter = 'a'; letter < 'e'; ++letter) remove(std::string("fuzz.") + letter);
    changeable_.Clear();
  }

  // Behaviour of the functions and hooks of this program.
  int OnCall(const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) override {
    if (++num_calls_ > 300 || ++depth_ > 20) {
      TVMFFIErrorSetRaisedFromCStr("RuntimeError", "enough");
      --depth_;
      return -1;
    }
    int code = Answer(args, num_args, result);
    --depth_;
    return code;
  }

 private:
  int Answer(const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    switch (in_.Below(6)) {
      case 0:
        TVMFFIErrorSetRaisedFromCStr("ValueError", "no");
        return -1;
      case 1:
        Step();
        break;
      case 2:
        return num_args > 0 ? TVMFFIAnyViewToOwnedAny(&args[in_.Byte() % num_args], result) : 0;
      case 3:
        *result = PlainValue(kTVMFFIInt, in_.Integer());
        return 0;
      default:
        break;
    }
    TVMFFIAny view = View(Slot());
    return TVMFFIAnyViewToOwnedAny(&view, result);
  }

  void Step() {
    ++num_calls_;
    using Call = void (Session::*)();
    constexpr Call kCalls[] = {
        &Session::MakePlain,    &Session::MakeText,       &Session::MakeContainer,
        &Session::MakeNode,     &Session::MakeFunction,   &Session::MakeError,
        &Session::MakeTensor,   &Session::CallGlobal,     &Session::CallGlobal,
        &Session::CallGlobal,   &Session::CallFunction,   &Session::SetGlobal,
        &Session::AskTypes,     &Session::RegisterParts,  &Session::UseDataType,
        &Session::ExportTensor, &Session::UseEnvironment, &Session::UseOnce,
        &Session::CopyView,     &Session::ExchangeErrors};
    (this->*kCalls[in_.Below(std::size(kCalls))])();
  }

  // ---- Checks after every call ----------------------------------------------------------------

  // A result of -1 must come with a pending error, and 0 without one.
  bool Succeeded(int code) {
    FUZZ_REQUIRE(code == 0 || code == -1);
    TVMFFIObjectHandle error = nullptr;
    TVMFFIErrorMoveFromRaised(&error);
    FUZZ_REQUIRE((error != nullptr) == (code != 0));
    if (error == nullptr) return true;
    FUZZ_REQUIRE(TVMFFIObjectGetTypeIndex(error) == kTVMFFIError);
    FUZZ_REQUIRE(TVMFFIErrorGetCellPtr(error)->kind.size > 0);
    TVMFFIObjectDecRef(error);
    return false;
  }

  // Calls make(&result). Stores the value on success; on failure, requires that nothing was
  // written.
  template <typename Make>
  void Keep(Make make) {
    TVMFFIAny result = Garbage();
    if (!Succeeded(make(&result))) return FUZZ_REQUIRE(IsGarbage(result));
    Put(result);
  }

  // Same as MakeValue, but for functions that create objects; NULL is not an object.
  template <typename Make>
  void KeepObject(Make make) {
    static char untouched;
    TVMFFIObjectHandle object = &untouched;
    if (!Succeeded(make(&object))) return FUZZ_REQUIRE(object == &untouched);
    FUZZ_REQUIRE(object != &untouched);
    Slot() = object == nullptr ? Any() : AnyOfOwned(object);
  }

  void Put(const TVMFFIAny& owned) {
    RequireWellFormed(owned);
    Any value = detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(owned);
    changeable_.Remember(value);
    Slot() = std::move(value);
  }

  Any& Slot() { return values_[in_.Below(kNumSlots)]; }

  // Returns a borrowed value: that of a slot, or a value of a type that only views have.
  TVMFFIAny Argument() {
    static const TVMFFIByteArray kBytes{"bytes\0with NUL", 14};
    switch (in_.Below(8)) {
      case 0:
        return PlainValue(kTVMFFIInt, in_.Integer());
      case 1:
        return PointerValue(kTVMFFIRawStr, kTexts[in_.Below(std::size(kTexts))]);
      case 2:
        return PointerValue(kTVMFFIByteArrayPtr, &kBytes);
      case 3: {
        const std::vector<std::string>& names = GlobalNames();
        return PointerValue(kTVMFFIRawStr, names[in_.Byte() % names.size()].c_str());
      }
      default:
        return View(Slot());
    }
  }

  // The owners of views must live during the call, whatever the call does to the slots.
  struct Arguments {
    std::vector<Any> owners;
    std::vector<TVMFFIAny> views;
  };
  Arguments MakeArguments() {
    Arguments arguments;
    for (uint32_t count = in_.Below(7); count > 0; --count) {
      TVMFFIAny view = Argument();
      if (view.type_index >= kTVMFFIStaticObjectBegin) arguments.owners.push_back(AnyOfView(view));
      arguments.views.push_back(view);
    }
    return arguments;
  }

  // ---- Creating values ------------------------------------------------------------------------

  void MakePlain() {
    constexpr int32_t kKinds[] = {kTVMFFINone,  kTVMFFIInt,      kTVMFFIBool,
                                  kTVMFFIFloat, kTVMFFIDataType, kTVMFFIDevice};
    int32_t kind = kKinds[in_.Below(std::size(kKinds))];
    int64_t payload = kind == kTVMFFINone ? 0 : in_.Integer();
    if (kind == kTVMFFIBool) payload &= 1;
    if (kind == kTVMFFIDataType) payload &= 0xFFFFFFFF;
    TVMFFIAny value = PlainValue(kind, payload);
    Keep([&](TVMFFIAny* out) { return TVMFFIAnyViewToOwnedAny(&value, out); });
  }

  void MakeText() {
    std::string_view text = in_.Text();
    TVMFFIByteArray bytes{text.data(), text.size()};
    switch (in_.Below(3)) {
      case 0:
        return Keep([&](TVMFFIAny* out) { return TVMFFIStringFromByteArray(&bytes, out); });
      case 1:
        return Keep([&](TVMFFIAny* out) { return TVMFFIBytesFromByteArray(&bytes, out); });
      default: {
        TVMFFIAny result = Garbage();
        // The documented result is None after a failure.
        bool is_made = Succeeded(TVMFFIBigIntFromByteArray(&bytes, &result));
        FUZZ_REQUIRE(is_made == (bytes.size % 8 == 0));
        RequireWellFormed(result);
        Slot() = detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(result);
      }
    }
  }

  void MakeContainer() {
    constexpr const char* kMakers[] = {"ffi.Array", "ffi.List", "ffi.Map", "ffi.Dict", "ffi.Shape"};
    Call(kMakers[in_.Below(std::size(kMakers))]);
  }

  void MakeNode() { Slot() = NewNode(in_.Below(kNumNodeTypes), Slot(), Slot()); }

  void MakeFunction() {
    KeepObject([&](TVMFFIObjectHandle* out) {
      return TVMFFIFunctionCreate(nullptr, &CallHooks, nullptr, out);
    });
  }

  void MakeError() {
    TVMFFIByteArray kind = Bytes(in_.Text()), message = Bytes(in_.Text()),
                    trace = Bytes(in_.Text());
    if (kind.size == 0) kind = Bytes("ValueError");
    Any cause = Slot(), context = Slot();
    TVMFFIAny cause_view = View(cause), context_view = View(context);
    bool has_cause = cause_view.type_index == kTVMFFIError;
    bool has_context = context_view.type_index >= kTVMFFIStaticObjectBegin;
    KeepObject([&](TVMFFIObjectHandle* out) {
      return TVMFFIErrorCreateWithCauseAndExtraContext(
          &kind, &message, &trace, has_cause ? cause_view.v_obj : nullptr,
          has_context ? context_view.v_obj : nullptr, out);
    });
  }

  void MakeTensor() {
    TensorChoice choice(&in_);
    int32_t alignment = static_cast<int32_t>(in_.Integer());
    int32_t contiguous = in_.Below(2);
    TVMFFIObjectHandle tensor = nullptr;
    bool is_taken = Succeeded(choice.Take(alignment, contiguous, &tensor));
    if (!is_taken) return choice.Release();
    Any value = AnyOfOwned(tensor);
    // The metadata of a tensor may describe memory outside of its bounds, but calls must not read
    // this memory.
    if (choice.is_readable) Slot() = value;
  }

  // ---- Calls ----------------------------------------------------------------------------------

  void Call(const std::string& name) {
    TVMFFIByteArray bytes = Bytes(name);
    TVMFFIObjectHandle function = nullptr;
    FUZZ_REQUIRE(Succeeded(TVMFFIFunctionGetGlobal(&bytes, &function)));
    if (function == nullptr) return;
    Any owner = AnyOfOwned(function);
    CallHandle(function);
  }

  void CallHandle(TVMFFIObjectHandle function) {
    Arguments arguments = MakeArguments();
    TVMFFIAny result = PlainValue(kTVMFFINone, 0);
    int code = TVMFFIFunctionCall(function, arguments.views.data(),
                                  static_cast<int32_t>(arguments.views.size()), &result);
    if (!Succeeded(code)) return;
    Put(result);
  }

  void CallGlobal() {
    const std::vector<std::string>& names = GlobalNames();
    Call(names[in_.Byte() % names.size()]);
  }

  void CallFunction() {
    Any callee = Slot();
    if (callee.type_index() == kTVMFFIFunction) CallHandle(View(callee).v_obj);
  }

  void SetGlobal() {
    Any callee = Slot();
    if (callee.type_index() != kTVMFFIFunction) return;
    std::string name = std::string("fuzz.") + static_cast<char>('a' + in_.Below(4));
    TVMFFIByteArray bytes = Bytes(name);
    TVMFFIMethodInfo info{bytes, Bytes(in_.Text()), Bytes(in_.Text()), in_.Integer(), View(callee)};
    int allow_override = 1;  // a name that exists is also printed
    Succeeded(in_.Below(2) == 0
                  ? TVMFFIFunctionSetGlobal(&bytes, View(callee).v_obj, allow_override)
                  : TVMFFIFunctionSetGlobalFromMethodInfo(&info, allow_override));
    Call(name);
  }

  // ---- Types ----------------------------------------------------------------------------------

  // A type key of this program, which may be new. The arguments of the registration are consistent.
  int32_t OwnType() {
    std::string key = std::string("fuzz.T") + static_cast<char>('a' + in_.Below(8));
    TVMFFIByteArray bytes = Bytes(key);
    int32_t index = TVMFFITypeGetOrAllocIndex(&bytes, -1, 1, 0, 1, kTVMFFIObject);
    FUZZ_REQUIRE(index >= kTVMFFIDynObjectBegin);
    FUZZ_REQUIRE(TVMFFIGetTypeInfo(index)->type_index == index);
    return index;
  }

  void AskTypes() {
    TVMFFIByteArray key = Bytes(in_.Text());
    int32_t index = -7;
    bool is_known = Succeeded(TVMFFITypeKeyToIndex(&key, &index));
    FUZZ_REQUIRE(is_known == (index != -7));
    if (is_known) {
      TVMFFIByteArray known = TVMFFIGetTypeInfo(index)->type_key;
      FUZZ_REQUIRE(Text(known) == Text(key));
    } else if (key.size > 0) {
      FUZZ_REQUIRE(TVMFFITypeGetOrAllocIndex(&key, -1, 0, 0, 0, -2) == -2);
    }
    OwnType();
  }

  static int GetNothing(void*, TVMFFIAny* result) {
    *result = PlainValue(kTVMFFINone, 0);
    return 0;
  }
  static int SetNothing(void*, const TVMFFIAny*) { return 0; }

  // Only a few names are registered, because registrations are permanent.
  void RegisterParts() {
    int32_t type = in_.Below(4) == 0 ? static_cast<int32_t>(in_.Below(4)) + 100000 : OwnType();
    TVMFFIByteArray name = Bytes(kTexts[in_.Below(std::size(kTexts))]);
    Any value = Slot();
    switch (in_.Below(4)) {
      case 0: {
        TVMFFIFieldInfo info{};
        info.name = name;
        info.doc = Bytes(std::string_view("a\0b", 3));
        info.flags = in_.Integer() & ~int64_t{kTVMFFIFieldFlagBitSetterIsFunctionObj};
        info.size = in_.Integer();
        info.alignment = in_.Integer();
        info.offset = in_.Integer();
        info.getter = &GetNothing;
        info.setter = reinterpret_cast<void*>(&SetNothing);
        info.default_value_or_factory = View(value);
        info.field_static_type_index = static_cast<int32_t>(in_.Integer());
        Succeeded(TVMFFITypeRegisterField(type, &info));
        break;
      }
      case 1: {
        if (value.type_index() != kTVMFFIFunction || ++num_methods_ > 100) break;
        TVMFFIMethodInfo info{name, Bytes(""), Bytes("{"), in_.Integer(), View(value)};
        Succeeded(TVMFFITypeRegisterMethod(type, &info));
        break;
      }
      case 2: {
        TVMFFITypeMetadata metadata{Bytes("doc"), nullptr, static_cast<int32_t>(in_.Integer()),
                                    static_cast<TVMFFISEqHashKind>(in_.Below(6))};
        Succeeded(TVMFFITypeRegisterMetadata(type, &metadata));
        break;
      }
      default: {
        TVMFFIAny view = View(value);
        Succeeded(TVMFFITypeRegisterAttr(type, &name, &view));
        TVMFFIGetTypeAttrColumn(&name);
      }
    }
  }

  // ---- Other functions ------------------------------------------------------------------------

  void UseDataType() {
    DLDataType dtype{in_.Byte(), in_.Byte(), static_cast<uint16_t>(in_.Integer())};
    Keep([&](TVMFFIAny* out) { return TVMFFIDataTypeToString(&dtype, out); });
  }

  void ExportTensor() {
    Any tensor = Slot();
    if (tensor.type_index() != kTVMFFITensor) return;
    TVMFFIObjectHandle handle = View(tensor).v_obj;
    DLManagedTensorVersioned* versioned = nullptr;
    DLManagedTensor* plain = nullptr;
    if (in_.Below(2) == 0) {
      if (!Succeeded(TVMFFITensorToDLPackVersioned(handle, &versioned))) return;
      tensor = Any();
      FUZZ_REQUIRE(versioned->version.major == 1);
      versioned->deleter(versioned);
    } else {
      if (!Succeeded(TVMFFITensorToDLPack(handle, &plain))) return;
      KeepObject([&](TVMFFIObjectHandle* out) { return TVMFFITensorFromDLPack(plain, 0, 0, out); });
    }
  }

  void UseEnvironment() {
    int32_t type = static_cast<int32_t>(in_.Integer()), id = static_cast<int32_t>(in_.Integer());
    // The table of streams grows up to the largest device id.
    if (id > 4096) id = 4096;
    void* before = nullptr;
    Succeeded(TVMFFIEnvSetStream(type, id, reinterpret_cast<void*>(16), &before));
    TVMFFIEnvGetStream(type, id);
    TensorChoice choice(&in_);
    DLTensor prototype = choice.Prototype();
    KeepObject([&](TVMFFIObjectHandle* out) { return TVMFFIEnvTensorAlloc(&prototype, out); });
    choice.Release();
    Succeeded(TVMFFIEnvCheckSignals());
  }

  static int InitSlot(void** result) {
    static char target;
    *result = &target;
    return 0;
  }
  static int InitNothing(void** result) {
    *result = nullptr;
    return 0;
  }
  static int Deinit(void*) { return 0; }

  void UseOnce() {
    void* slot = nullptr;
    bool is_filled =
        Succeeded(TVMFFIHandleInitOnce(&slot, in_.Below(2) == 0 ? InitSlot : InitNothing));
    FUZZ_REQUIRE(is_filled == (slot != nullptr));
    FUZZ_REQUIRE(Succeeded(TVMFFIHandleDeinitOnce(&slot, Deinit)) && slot == nullptr);
    FUZZ_REQUIRE(TVMFFIBacktrace(nullptr, static_cast<int>(in_.Integer()), "f", 1) != nullptr);
  }

  void CopyView() {
    Any moved = Slot();
    TVMFFIAny view = in_.Below(2) == 0 ? Argument() : View(moved);
    void* object = view.type_index >= kTVMFFIStaticObjectBegin ? view.v_obj : nullptr;
    if (view.type_index == kTVMFFIObject || object == nullptr) {
      return Keep([&](TVMFFIAny* out) { return TVMFFIAnyViewToOwnedAny(&view, out); });
    }
    // Moves the value out of a slot twice: the second time the slot is empty.
    TVMFFIObjectIncRef(object);
    TVMFFIAny reference = PointerValue(kTVMFFIObjectRValueRef, &object);
    Keep([&](TVMFFIAny* out) { return TVMFFIAnyViewToOwnedAny(&reference, out); });
    FUZZ_REQUIRE(object == nullptr);
    TVMFFIAny nothing = Garbage();
    FUZZ_REQUIRE(!Succeeded(TVMFFIAnyViewToOwnedAny(&reference, &nothing)) && IsGarbage(nothing));
  }

  void ExchangeErrors() {
    Any error = Slot();
    if (error.type_index() != kTVMFFIError) {
      const char* parts[] = {"a", nullptr, "b"};
      TVMFFIErrorSetRaisedFromCStrParts("KeyError", parts, static_cast<int32_t>(in_.Below(4)));
    } else {
      TVMFFIObjectHandle handle = View(error).v_obj;
      TVMFFIByteArray trace = Bytes(in_.Text());
      TVMFFIErrorGetCellPtr(handle)->update_backtrace(handle, &trace,
                                                      static_cast<int32_t>(in_.Integer()));
      TVMFFIErrorSetRaised(handle);
    }
    FUZZ_REQUIRE(!Succeeded(-1));
  }

  static constexpr uint32_t kNumSlots = 12;
  Input in_;
  Any values_[kNumSlots];
  Changeable changeable_;
  int num_calls_ = 0;
  int depth_ = 0;
  static inline int num_methods_ = 0;
};

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::RegisterNodes();
  fuzz::Session session(fuzz::Input(data, size));
  fuzz::Hooks::current = &session;
  fuzz::most_bytes = size_t{16} << 20;
  session.Run();
  fuzz::most_bytes = SIZE_MAX;
  return 0;
}
