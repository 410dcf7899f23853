// SPDX-License-Identifier: Apache-2.0
// ReprPrint: one walk over the value that writes text as it goes.
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
#include "walk/hook_argument.h"
#include "walk/hook_scope.h"
#include "walk/object_table.h"
#include "walk/part_reader.h"

namespace tvm::ffi::extra {
namespace {

constexpr WalkLimits kLimits{"ReprPrint: "};
// A value that shares its parts can have a text exponentially longer than itself.
constexpr size_t kMaxTextBytes = size_t{1} << 30;

bool IsResultOf(const char* global_function, const Any& value) {
  auto function = Function::GetGlobal(global_function);
  return function.has_value() && (*function)().same_as(value);
}

// The objects that stand for something in argument lists; nullptr for any other.
const char* NameOfSentinel(const Any& value) {
  if (value.type_index() != kTVMFFIObject) return nullptr;
  if (IsResultOf("ffi.GetInvalidObject", value)) return "<MISSING>";
  return IsResultOf("ffi.GetKwargsObject", value) ? "<KWARGS>" : nullptr;
}

bool IsAddressWanted() {
  const char* setting = std::getenv("TVM_FFI_REPR_WITH_ADDR");
  return setting != nullptr && std::string_view(setting) == "1";
}

// How much of a value is written.
struct PrintLimits {
  // Containers with more elements in all than this are abbreviated.
  size_t threshold;
  // What an abbreviated container shows at each end.
  size_t edge_items;
};

enum class PrintMode {
  kWhole,
  kCounting,     // gives up when there are too many elements
  kAbbreviated,  // leaves out the middle of containers, and all elements when many are written
};

// 1. Begin writes a value without parts, or the opening of an object, which it then pushes.
// 2. Advance writes what separates the next part of the topmost object and begins that part, or
//    writes the closing and pops the object.
// Hooks come back through Print, on top of the stack as it is then.
class ReprPrinter {
 public:
  ReprPrinter() = default;
  ReprPrinter(PrintMode mode, PrintLimits limits)
      : mode_(mode),
        edge_items_(std::min(limits.edge_items, SIZE_MAX / 4)),
        num_left_(limits.threshold) {
    // With a low threshold, what is left of a container would be left out as well.
    if (mode == PrintMode::kAbbreviated) num_left_ = std::max(num_left_, kLeastShown);
  }

  String Print(const Any& value) {
    Scope scope(this);
    Begin(value);
    while (open_.size() > scope.base() && !HasGivenUp()) Advance();
    return String(text_.data(), text_.size());
  }

  // What has been printed is not the whole.
  bool HasGivenUp() const { return mode_ == PrintMode::kCounting && is_exhausted_; }

 private:
  static constexpr size_t kLeastShown = 1000;

  // Gives one call of Print its own text, and takes back what an exception left open.
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
    if (PartKindOf(value) == PartKind::kNone) return AppendLeafText(value, &text_);
    if (on_path_.Contains(ObjectOf(value))) {
      text_ += "...";
      return AppendAddress(ObjectOf(value));
    }
    if (PartKindOf(value) == PartKind::kFields) return BeginObject(value);
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
    if (HasVisibleFields(value)) {
      text_ += '(';
      Push(value);
    }
  }

  static bool HasVisibleFields(const Any& value) {
    if (value.as<EnumObj>() != nullptr || value.as<TensorObj>() != nullptr) return false;
    const TypeInfo* type = TVMFFIGetTypeInfo(value.type_index());
    return FieldCursor(type, kTVMFFIFieldFlagBitMaskReprOff).Next() != nullptr;
  }

  String PrintForHook(AnyView part) { return Print(Any(part)); }

  // Holds the value: the hook may remove it from where it was found.
  void AppendHookText(
      const TypedFunction<String(const Object*, const TypedFunction<String(AnyView)>&)>& hook,
      Any value) {
    HookScope running(&hooks_, kLimits);
    PathScope on_path(&on_path_, ObjectOf(value));
    String text = hook(ObjectOf(value), print_for_hook_.Get());
    text_.append(text.data(), text.size());
  }

  void Advance() {
    PartReader& parts = open_.back();
    if (IsBeforeMiddle(parts)) {
      parts.Skip(parts.size() - 2 * edge_items_);
      text_ += ", ...";
    }
    const Any* part = parts.Next();
    if (part == nullptr) return Close();
    CountElement(parts);
    AppendSeparator(parts);
    Begin(*part);
    if (text_.size() > kMaxTextBytes) {
      TVM_FFI_THROW(ValueError) << kLimits.service << "text of more than " << kMaxTextBytes
                                << " bytes";
    }
  }

  bool IsBeforeMiddle(const PartReader& parts) const {
    if (mode_ != PrintMode::kAbbreviated || parts.size() <= 2 * edge_items_) return false;
    return parts.count() == edge_items_ * (parts.kind() == PartKind::kPairs ? 2 : 1);
  }

  // The part that was just read; a pair counts as one element.
  void CountElement(const PartReader& parts) {
    bool is_value = parts.kind() == PartKind::kPairs && parts.count() % 2 == 0;
    if (mode_ == PrintMode::kWhole || parts.kind() == PartKind::kFields || is_value) return;
    if (num_left_ == 0) {
      is_exhausted_ = true;
    } else {
      --num_left_;
    }
  }

  // In front of the part that was just read.
  void AppendSeparator(const PartReader& parts) {
    bool is_value = parts.kind() == PartKind::kPairs && parts.count() % 2 == 0;
    if (is_value) {
      text_ += ": ";
    } else if (parts.count() > 1) {
      text_ += ", ";
    }
    if (parts.kind() != PartKind::kFields) return;
    text_.append(parts.field()->name.data, parts.field()->name.size);
    text_ += '=';
  }

  void Close() {
    const PartReader& parts = open_.back();
    text_ += ClosingOf(parts);
    if (parts.kind() != PartKind::kFields) AppendAddress(parts.object());
    Pop();
  }

  static const char* OpeningOf(const Any& value) {
    if (PartKindOf(value) == PartKind::kPairs) return "{";
    return value.type_index() == kTVMFFIArray ? "(" : "[";
  }
  static const char* ClosingOf(const PartReader& parts) {
    if (parts.kind() == PartKind::kPairs) return "}";
    if (parts.kind() == PartKind::kFields) return ")";
    if (parts.value().type_index() == kTVMFFIList) return "]";
    return parts.count() == 1 ? ",)" : ")";
  }

  void AppendAddress(const Object* object) {
    if (!with_addresses_) return;
    char address[24];
    int size = std::snprintf(address, sizeof(address), "@0x%" PRIxPTR,
                             reinterpret_cast<uintptr_t>(object));
    text_.append(address, static_cast<size_t>(size));
  }

  // Objects whose text is being written: met again, they must not be begun again.
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
  size_t num_left_ = 0;  // elements until too many have been written
  bool is_exhausted_ = false;
  std::string text_;
  std::vector<PartReader> open_;
  ObjectSet on_path_;
  RunningHooks hooks_;
  bool with_addresses_ = IsAddressWanted();
  HookArgument<&ReprPrinter::PrintForHook> print_for_hook_{this, &hooks_, &kLimits};
};

// The text of a value as ReprPrint has it, unless its containers have more than `threshold`
// elements in all: then each shows `edge_items` at either end, and no more than their size and
// depth bound are looked at.
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
      // Not in the contract, so outside of its prefix.
      .def("pytvmffi.ReprPrintAbbreviated", &extra::ReprPrintAbbreviated);
}

}  // namespace tvm::ffi
