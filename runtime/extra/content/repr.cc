// SPDX-License-Identifier: Apache-2.0
// ReprPrint: the repr of values, written in one walk with an explicit stack.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "content/access_path_repr.h"
#include "content/repr_text.h"
#include "registration.h"
#include "walk/child_reader.h"
#include "walk/hook_argument.h"
#include "walk/hook_scope.h"
#include "walk/object_table.h"

namespace tvm::ffi::extra {
namespace {

constexpr WalkLimits kLimits{"ReprPrint: "};
// The largest size of a repr.  If children are shared, the repr can be exponentially larger than
// the value itself.
constexpr size_t kMaxTextBytes = size_t{1} << 30;

bool IsResultOf(const char* global_function, const Any& value) {
  auto function = Function::GetGlobal(global_function);
  return function.has_value() && (*function)().same_as(value);
}

// Returns the name of a sentinel object of argument lists, else nullptr.
const char* NameOfSentinel(const Any& value) {
  if (value.type_index() != kTVMFFIObject) return nullptr;
  if (IsResultOf("ffi.GetInvalidObject", value)) return "<MISSING>";
  return IsResultOf("ffi.GetKwargsObject", value) ? "<KWARGS>" : nullptr;
}

bool IsAddressWanted() {
  const char* setting = std::getenv("TVM_FFI_REPR_WITH_ADDR");
  return setting != nullptr && std::string_view(setting) == "1";
}

// The two numbers that determine whether and how a repr is abbreviated.
struct PrintLimits {
  // The value is abbreviated if its containers together have more than `threshold` elements, where
  // each further occurrence of an object with fields counts as one element.
  size_t threshold;
  // The number of elements that an abbreviated container shows at each end.
  size_t edge_items;
};

enum class PrintMode {
  kWhole,
  kCounting,     // only counts the elements; stops if there are more than the threshold
  kAbbreviated,  // omits the middle of containers; once the limit is reached, omits all elements
                 // and the fields of objects that are already in the text
};

// 1. Begin writes a value without children, or writes the opening bracket of an object and pushes
//    the object to the stack.
// 2. Advance writes the separator before the next child of the top object and calls Begin for the
//    child, or writes the closing bracket and pops the object.
// Hooks call Print recursively; a nested call pushes its frames above the frames of the outer call.
class ReprPrinter {
 public:
  ReprPrinter() = default;
  ReprPrinter(PrintMode mode, PrintLimits limits)
      : mode_(mode),
        edge_items_(std::min(limits.edge_items, SIZE_MAX / 4)),
        num_left_(limits.threshold) {
    // Raise the limit to kLeastShown, because a lower limit would omit the elements at the ends of
    // abbreviated containers.
    if (mode == PrintMode::kAbbreviated) num_left_ = std::max(num_left_, kLeastShown);
  }

  String Print(const Any& value) {
    Scope scope(this);
    Begin(value);
    while (open_.size() > scope.base() && !HasGivenUp()) Advance();
    return String(text_.data(), text_.size());
  }

  // Returns true if printing stopped because there were too many elements.
  bool HasGivenUp() const { return mode_ == PrintMode::kCounting && is_exhausted_; }

 private:
  static constexpr size_t kLeastShown = 1000;

  // Starts each call of Print with an empty text, and restores the previous text and the stack when
  // the call ends, also by an exception.
  class Scope {
   public:
    explicit Scope(ReprPrinter* printer) : printer_(printer), base_(printer->open_.size()) {
      outer_text_.swap(printer_->text_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      while (printer_->open_.size() > base_) printer_->Pop();
      outer_text_.swap(printer_->text_);
    }
    size_t base() const { return base_; }

   private:
    ReprPrinter* printer_;
    size_t base_;
    std::string outer_text_;
  };

  void Begin(const Any& value) {
    if (ChildKindOf(value) == ChildKind::kNone) return AppendLeafText(value, &text_);
    if (on_path_.Contains(ObjectOf(value))) {
      text_ += "...";
      return AppendAddress(ObjectOf(value));
    }
    if (ChildKindOf(value) == ChildKind::kFields) return BeginObject(value);
    text_ += OpeningOf(value);
    Push(value);
    if (mode_ == PrintMode::kAbbreviated && is_exhausted_ && open_.back().size() > 0) {
      text_ += "...";
      Close();
    }
  }

  void BeginObject(const Any& value) {
    static const reflection::TypeAttrColumn hooks(type_attr::kRepr);
    const Object* object = ObjectOf(value);
    if (auto hook = type_attr::kRepr.ValueFrom(hooks[value.type_index()])) {
      return AppendHookText(*hook, value);
    }
    if (const char* sentinel = NameOfSentinel(value)) {
      text_ += sentinel;
      return;
    }
    if (const auto* tensor = value.as<TensorObj>()) {
      AppendTensorText(tensor, &text_);
    } else {
      AppendTypeKey(value.type_index(), &text_);
      if (const auto* member = value.as<EnumObj>()) {
        text_ += '.';
        text_.append(member->_str_index.data(), member->_str_index.size());
      }
    }
    AppendAddress(object);
    if (!HasVisibleFields(value)) return;
    text_ += '(';
    if (CountRepetition(value) && mode_ == PrintMode::kAbbreviated && is_exhausted_) {
      text_ += "...)";
    } else {
      Push(value);
    }
  }

  static bool HasVisibleFields(const Any& value) {
    if (value.as<EnumObj>() != nullptr || value.as<TensorObj>() != nullptr) return false;
    const TypeInfo* type = TVMFFIGetTypeInfo(value.type_index());
    return FieldCursor(type, kTVMFFIFieldFlagBitMaskReprOff).Next() != nullptr;
  }

  String PrintForHook(AnyView child) { return Print(Any(child)); }

  // Appends the text that a repr hook returns.  Takes an owned reference to the value, because the
  // hook may remove the value from its container.
  void AppendHookText(
      const TypedFunction<String(const Object*, const TypedFunction<String(AnyView)>&)>& hook,
      Any value) {
    HookScope running(&hooks_, kLimits);
    PathScope on_path(&on_path_, ObjectOf(value));
    String text = hook(ObjectOf(value), print_for_hook_.Get());
    text_.append(text.data(), text.size());
  }

  void Advance() {
    ChildReader& children = open_.back();
    if (IsBeforeMiddle(children)) {
      children.Skip(children.size() - 2 * edge_items_);
      text_ += ", ...";
    }
    const Any* child = children.Next();
    if (child == nullptr) return Close();
    CountElement(children);
    AppendSeparator(children);
    Begin(*child);
    if (text_.size() > kMaxTextBytes) {
      TVM_FFI_THROW(ValueError) << kLimits.service << "the text is longer than " << kMaxTextBytes
                                << " bytes";
    }
  }

  bool IsBeforeMiddle(const ChildReader& children) const {
    if (mode_ != PrintMode::kAbbreviated || children.size() <= 2 * edge_items_) return false;
    return children.count() == edge_items_ * (children.kind() == ChildKind::kPairs ? 2 : 1);
  }

  // Counts the child that was just read; a pair counts as one element.
  void CountElement(const ChildReader& children) {
    bool is_value = children.kind() == ChildKind::kPairs && children.count() % 2 == 0;
    if (mode_ == PrintMode::kWhole || children.kind() == ChildKind::kFields || is_value) return;
    CountOne();
  }

  // Returns true if the text contains the fields of the object already, and counts the repetition.
  // Without this limit, the text of n shared objects may have 2^n parts.
  bool CountRepetition(const Any& value) {
    if (mode_ == PrintMode::kWhole) return false;
    if (printed_.Insert(ObjectOf(value))) {
      printed_values_.push_back(value);
      return false;
    }
    CountOne();
    return true;
  }

  void CountOne() {
    if (num_left_ == 0) {
      is_exhausted_ = true;
    } else {
      --num_left_;
    }
  }

  // Writes the separator, and the name of a field, before the child that was just read.
  void AppendSeparator(const ChildReader& children) {
    bool is_value = children.kind() == ChildKind::kPairs && children.count() % 2 == 0;
    if (is_value) {
      text_ += ": ";
    } else if (children.count() > 1) {
      text_ += ", ";
    }
    if (children.kind() != ChildKind::kFields) return;
    text_.append(children.field()->name.data, children.field()->name.size);
    text_ += '=';
  }

  void Close() {
    const ChildReader& children = open_.back();
    text_ += ClosingOf(children);
    if (children.kind() != ChildKind::kFields) AppendAddress(children.object());
    Pop();
  }

  static const char* OpeningOf(const Any& value) {
    if (ChildKindOf(value) == ChildKind::kPairs) return "{";
    return value.type_index() == kTVMFFIArray ? "(" : "[";
  }
  static const char* ClosingOf(const ChildReader& children) {
    if (children.kind() == ChildKind::kPairs) return "}";
    if (children.kind() == ChildKind::kFields) return ")";
    if (children.value().type_index() == kTVMFFIList) return "]";
    return children.count() == 1 ? ",)" : ")";
  }

  void AppendAddress(const Object* object) {
    if (!with_addresses_) return;
    char address[24];
    int size = std::snprintf(address, sizeof(address), "@0x%" PRIxPTR,
                             reinterpret_cast<uintptr_t>(object));
    text_.append(address, static_cast<size_t>(size));
  }

  // Adds an object to on_path_ while its text is being written.
  struct PathScope {
    PathScope(ObjectSet* path, const Object* object) : path(path), object(object) {
      path->Insert(object);
    }
    PathScope(const PathScope&) = delete;
    PathScope& operator=(const PathScope&) = delete;
    ~PathScope() { path->Erase(object); }
    ObjectSet* path;
    const Object* object;
  };

  void Push(const Any& value) {
    kLimits.CheckDepth(open_.size());
    open_.emplace_back(value, kTVMFFIFieldFlagBitMaskReprOff);
    on_path_.Insert(open_.back().object());
  }
  void Pop() {
    on_path_.Erase(open_.back().object());
    open_.pop_back();
  }

  PrintMode mode_ = PrintMode::kWhole;
  size_t edge_items_ = 0;
  size_t num_left_ = 0;  // number of elements that may still be printed
  bool is_exhausted_ = false;
  std::string text_;
  std::vector<ChildReader> open_;
  ObjectSet on_path_;  // objects whose text is being written
  ObjectSet printed_;  // objects whose fields were printed; `printed_values_` keeps them alive
  std::vector<Any> printed_values_;
  RunningHooks hooks_;
  bool with_addresses_ = IsAddressWanted();
  HookArgument<&ReprPrinter::PrintForHook> print_for_hook_{this, &hooks_, &kLimits};
};

// Returns the same text as ReprPrint unless the containers of the value together have more than
// `threshold` elements.  In that case, each container shows `edge_items` elements at each end, and
// objects that occur again are abbreviated once as many elements have been printed.
String ReprPrintAbbreviated(const Any& value, int64_t threshold, int64_t edge_items) {
  if (threshold < 0 || edge_items < 1) {
    TVM_FFI_THROW(ValueError) << kLimits.service
                              << "expected threshold >= 0 and edge_items >= 1, got " << threshold
                              << " and " << edge_items;
  }
  PrintLimits limits{static_cast<size_t>(threshold), static_cast<size_t>(edge_items)};
  ReprPrinter counting(PrintMode::kCounting, limits);
  String text = counting.Print(value);
  if (!counting.HasGivenUp()) return text;
  return ReprPrinter(PrintMode::kAbbreviated, limits).Print(value);
}

}  // namespace
}  // namespace tvm::ffi::extra

namespace tvm::ffi {

String ReprPrint(const Any& value) { return extra::ReprPrinter().Print(value); }

void extra::RegisterRepr() {
  reflection::EnsureTypeAttrColumn(type_attr::kRepr);
  reflection::TypeAttrDef<reflection::AccessStepObj>().def(type_attr::kRepr,
                                                           &extra::PrintAccessStep);
  reflection::TypeAttrDef<reflection::AccessPathObj>().def(type_attr::kRepr,
                                                           &extra::PrintAccessPath);
  reflection::GlobalDef()
      .def("ffi.ReprPrint", &ReprPrint)
      // The function is not part of the ABI, so its name does not have the prefix "ffi.".
      .def("pytvmffi.ReprPrintAbbreviated", &extra::ReprPrintAbbreviated);
}

}  // namespace tvm::ffi
