/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for torch's dispatcher.  A kernel is a C function without a user pointer, so each
 * registration takes one of a fixed number of functions, which finds its operator in a table. */
#ifndef TVM_FFI_RUNTIME_TORCH_DISPATCHER_KERNELS_H_
#define TVM_FFI_RUNTIME_TORCH_DISPATCHER_KERNELS_H_

#include "operator.h"

namespace tvm_ffi_torch {

// Converts the thread's pending native error to a Python exception, which it sets; needs the GIL.
extern int (*raise_from_native)(int code);
// The field of a Python `Function` that is true if calls release the GIL.
extern const int* (*releases_gil_of)(PyObject* function);

// Take two kernels for an operator: at its backend keys, and at autograd's keys.  Returns false if
// no kernels are left.
bool TakeKernels(const Operator* op, int* slot, DispatcherKernel* backend,
                 DispatcherKernel* autograd);
// Return the `forward` for the `torch.autograd.Function` of an operator; null with an exception on
// failure.  It calls the operator's kernel, then `setup_context` unless that is None.
PyObject* NewForward(PyObject* setup_context);
// Return kernels for use by another operator.  The caller has removed them from the dispatcher.
void ReturnKernels(int slot);

}  // namespace tvm_ffi_torch
#endif  // TVM_FFI_RUNTIME_TORCH_DISPATCHER_KERNELS_H_
