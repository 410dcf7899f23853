// SPDX-License-Identifier: Apache-2.0
// Custom module in C++: a polynomial, which is serialized as its coefficients.
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace polynomial {

using namespace tvm::ffi;

class PolynomialObj : public ModuleObj {
 public:
  explicit PolynomialObj(std::vector<double> coefficients)
      : coefficients_(std::move(coefficients)) {}

  const char* kind() const override { return "example.polynomial"; }
  int GetPropertyMask() const override { return Module::kBinarySerializable | Module::kRunnable; }

  // The returned function owns a reference to the module, whose coefficients it reads.
  Optional<Function> GetFunction(const String& name) override {
    if (name != "evaluate") return std::nullopt;
    return Function::FromTyped(
        [self = GetObjectPtr<PolynomialObj>(this)](double x) { return self->Evaluate(x); });
  }
  Optional<String> GetFunctionDoc(const String& name) override {
    if (name != "evaluate") return std::nullopt;
    return String("Return the value at x.");
  }

  Bytes SaveToBytes() const override {
    return Bytes(reinterpret_cast<const char*>(coefficients_.data()),
                 coefficients_.size() * sizeof(double));
  }
  String InspectSource(const String& /*format*/) const override {
    std::string text;
    for (size_t i = 0; i < coefficients_.size(); ++i) {
      text += (i == 0 ? "" : " + ") + std::to_string(coefficients_[i]) + " x^" + std::to_string(i);
    }
    return text;
  }

 private:
  double Evaluate(double x) const {
    double value = 0;
    for (size_t i = coefficients_.size(); i-- > 0;) value = value * x + coefficients_[i];
    return value;
  }

  std::vector<double> coefficients_;
};

Module New(const Array<double>& coefficients) {
  return Module(
      make_object<PolynomialObj>(std::vector<double>(coefficients.begin(), coefficients.end())));
}

// Inverse of SaveToBytes.  The bytes are checked, because a file may be corrupt.
Module LoadFromBytes(const Bytes& bytes) {
  TVM_FFI_CHECK_EQ(bytes.size() % sizeof(double), 0u, ValueError)
      << "bytes of a polynomial are doubles";
  std::vector<double> coefficients(bytes.size() / sizeof(double));
  std::memcpy(coefficients.data(), bytes.data(), bytes.size());
  return Module(make_object<PolynomialObj>(std::move(coefficients)));
}

// Registers the loader of this module kind.  Libraries that embed a polynomial can be loaded only
// after this library.
TVM_FFI_STATIC_INIT_BLOCK() {
  reflection::GlobalDef().def("ffi.Module.load_from_bytes.example.polynomial", LoadFromBytes);
}

}  // namespace polynomial

TVM_FFI_DLL_EXPORT_TYPED_FUNC(new_polynomial, polynomial::New);
