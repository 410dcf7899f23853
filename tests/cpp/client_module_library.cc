// SPDX-License-Identifier: Apache-2.0
// A library that defines a module class, written like user code: no `override`, data members,
// functions that capture `this`.
#include <tvm/ffi/cast.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include <atomic>
#include <string>
#include <typeinfo>

namespace ffi = tvm::ffi;

namespace {

std::atomic<int64_t> alive{0};

class CounterModule : public ffi::ModuleObj {
 public:
  CounterModule(int64_t start, std::string label) : count_(start), label_(std::move(label)) {
    ++alive;
  }
  ~CounterModule() { --alive; }

  const char* kind() const { return "counter"; }
  int GetPropertyMask() const { return ffi::Module::kRunnable | ffi::Module::kBinarySerializable; }

  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) {
    ffi::ObjectPtr<ffi::Object> self = ffi::GetObjectPtr<ffi::Object>(this);
    if (name == "next") {
      return ffi::Function::FromTyped([this, self] { return count_++; });
    } else if (name == "label") {
      return ffi::Function::FromPacked(
          [self, this](ffi::PackedArgs args, ffi::Any* rv) { *rv = label_; });
    } else if (name == "refuse") {
      TVM_FFI_THROW(ValueError) << "the counter " << label_ << " refuses";
    }
    return std::nullopt;
  }

  ffi::Bytes SaveToBytes() const { return ffi::Bytes(label_); }
  ffi::String InspectSource(const ffi::String& format) const { return label_ + "." + format; }

 private:
  int64_t count_;
  std::string label_;
};

ffi::Module MakeCounter(int64_t start, std::string label) {
  return ffi::Module(ffi::make_object<CounterModule>(start, std::move(label)));
}

int64_t CountAlive() { return alive; }

bool IsCounter(const ffi::Module& module) {
  return dynamic_cast<CounterModule*>(module.get()) != nullptr;
}

void* TypeInfoOfModules() { return const_cast<std::type_info*>(&typeid(ffi::ModuleObj)); }

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_counter, MakeCounter);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(count_alive, CountAlive);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(is_counter, IsCounter);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(type_info_of_modules, TypeInfoOfModules);
