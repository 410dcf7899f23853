// SPDX-License-Identifier: Apache-2.0
// Operators of the C++ API of torch: the floor of operators that tvm_ffi.interop.torch registers.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace {

void Check(const at::Tensor& x) {
  TORCH_CHECK_VALUE(x.dim() == 1 && x.scalar_type() == at::kFloat && x.is_contiguous(), "x");
}

void Touch(const at::Tensor& x, const at::Tensor& y, double /*factor*/) {
  Check(x);
  Check(y);
  TORCH_CHECK_VALUE(x.size(0) == y.size(0), "y");
}

at::Tensor Touched(const at::Tensor& x, double factor) {
  at::Tensor y = at::empty(x.sizes(), x.options());
  Touch(x, y, factor);
  return y;
}

class Derived : public torch::autograd::Function<Derived> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            double factor) {
    at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("benchmark_cpp::derived", "")
                               .typed<at::Tensor(const at::Tensor&, double)>();
    context->saved_data["factor"] = factor;
    return op.call(x, factor);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0] * context->saved_data["factor"].toDouble(), at::Tensor()};
  }
};

at::Tensor DerivedAtAutograd(const at::Tensor& x, double factor) {
  return Derived::apply(x, factor);
}

}  // namespace

TORCH_LIBRARY(benchmark_cpp, library) {
  library.def("touch(Tensor x, Tensor(a!) y, float factor=2.) -> ()");
  library.def("touched(Tensor x, float factor=2.) -> Tensor");
  library.def("derived(Tensor x, float factor=2.) -> Tensor");
}

TORCH_LIBRARY_IMPL(benchmark_cpp, CPU, library) {
  library.impl("touch", Touch);
  library.impl("touched", Touched);
  library.impl("derived", Touched);
}

TORCH_LIBRARY_IMPL(benchmark_cpp, Autograd, library) { library.impl("derived", DerivedAtAutograd); }
