// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_module.h"

#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <fstream>
#include <unordered_map>

#include "../core/extra_layer.h"
#include "cuda/arguments.h"
#include "cuda/current_device.h"
#include "cuda/devices.h"
#include "cuda/kernel_launch.h"
#include "cuda/launch_plan.h"
#include "cuda/module_format.h"
#include "cuda/repeated_launch.h"
#include "module/module_class.h"

namespace tvm::ffi::extra {
namespace cuda {
namespace {

// A CUDA module: kernels and launch plans.  A function index below the number of kernels in the
// first image is the index of a kernel.  The larger indices belong to the launch plans.
class CudaModuleObj final : public ModuleObj {
 public:
  CudaModuleObj(std::vector<SavedImage> images, std::vector<Signature> signatures,
                std::vector<SavedPlan> plans)
      : signatures_(std::move(signatures)) {
    ModuleClass<CudaModuleObj>::Learn(this);
    for (const Signature& signature : signatures_) AddName(signature.kernel.name);
    size_t num_kernels = signatures_.size();
    for (SavedPlan& plan : plans) {
      plans_.emplace_back(std::move(plan), images.size(), num_kernels);
      num_kernels += plans_.back().num_kernels();
      AddName(plans_.back().saved().name);
    }
    for (SavedImage& image : images) {
      images_.push_back(std::make_unique<ModuleImage>(image.format, std::move(image.architecture),
                                                      std::move(image.content), num_kernels));
    }
  }

  const char* kind() const override { return "cuda_driver"; }
  int GetPropertyMask() const override {
    return ffi::Module::kBinarySerializable | ffi::Module::kRunnable;
  }

  using ModuleObj::GetFunction;
  Optional<Function> GetFunction(const String& name) override;
  using ModuleObj::ImplementsFunction;
  bool ImplementsFunction(const String& name) override { return indices_.count(name) != 0; }
  using ModuleObj::GetFunctionDoc;
  Optional<String> GetFunctionDoc(const String& name) override {
    auto found = indices_.find(name);
    if (found == indices_.end()) return std::nullopt;
    const LaunchPlan* plan = PlanOf(found->second);
    return String(plan != nullptr ? plan->saved().documentation
                                  : signatures_[found->second].Documentation());
  }
  using ModuleObj::GetFunctionMetadata;
  Optional<String> GetFunctionMetadata(const String& name) override {
    auto found = indices_.find(name);
    if (found == indices_.end()) return std::nullopt;
    const LaunchPlan* plan = PlanOf(found->second);
    return String(plan != nullptr ? plan->saved().metadata : signatures_[found->second].Metadata());
  }

  Array<String> GetWriteFormats() const override {
    if (images_.size() > 1) return {};
    return {String(NameOf(images_[0]->format))};
  }
  void WriteToFile(const String& file_name, const String& format) const override;
  Bytes SaveToBytes() const override;
  String InspectSource(const String& format) const override {
    for (const std::unique_ptr<ModuleImage>& image : images_) {
      bool is_requested = format == "" || format == "ptx";
      if (image->format == ImageFormat::kPtx && is_requested) {
        return String(image->on_devices.image());
      }
    }
    return String();
  }

  void Run(size_t index, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
  // Returns the launch plan to which a function index belongs; nullptr if the index belongs to a
  // kernel.
  const LaunchPlan* PlanOf(size_t index) const {
    return index < signatures_.size() ? nullptr : &plans_[index - signatures_.size()];
  }
  const ModuleImages& images() const { return images_; }

  Array<String> FunctionNames() const {
    std::vector<std::string> names;
    for (const auto& [name, index] : indices_) names.push_back(name);
    std::sort(names.begin(), names.end());
    return Array<String>(names.begin(), names.end());
  }

 private:
  void AddName(const std::string& name) {
    if (!indices_.emplace(name, indices_.size()).second) {
      TVM_FFI_THROW(ValueError) << "CUDA module: two functions have the name `" << name << "`";
    }
  }
  void RunKernel(size_t index, const TVMFFIAny* args, int32_t num_args);

  std::vector<Signature> signatures_;
  std::vector<LaunchPlan> plans_;
  std::unordered_map<std::string, size_t> indices_;
  ModuleImages images_;
};

// A function object for a kernel or launch plan of a CUDA module.  It owns a reference to the
// module.
class KernelFunctionObj : public FunctionObj {
 public:
  // name: owned by the module
  KernelFunctionObj(ObjectPtr<CudaModuleObj> module, size_t index, std::string_view name)
      : module_(std::move(module)), index_(index) {
    safe_call = &Call;  // cpp_call stays null, because Call has the C calling convention
    known_.Add(ffi::detail::ObjectUnsafe::GetHeader(this), name);
  }

  const CudaModuleObj& module() const { return *module_; }
  const LaunchPlan* plan() const { return module_->PlanOf(index_); }

  static int Call(void* function, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    TVM_FFI_SAFE_CALL_BEGIN();
    auto* self = ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<KernelFunctionObj>(
        static_cast<TVMFFIObject*>(function));
    self->module_->Run(self->index_, args, num_args, result);
    TVM_FFI_SAFE_CALL_END();
  }

 private:
  ObjectPtr<CudaModuleObj> module_;
  size_t index_;
  runtime::KnownFunction known_;  // destroyed before the module, which owns the name
};

// The function that a prepared call of a launch plan calls.  While observers replace the entry of
// the plan's function, each call goes through that function.
class PreparedLaunchObj : public FunctionObj {
 public:
  PreparedLaunchObj(ObjectPtr<KernelFunctionObj> function, const LaunchPlan& plan)
      : function_(std::move(function)), launch_(plan, function_->module().images()) {
    safe_call = &Call;
  }

  // Returns an owned handle, or nullptr if no launch plan belongs to the function.
  static void* New(void* handle) {
    if (runtime::OwnEntryOf(handle) != reinterpret_cast<const void*>(&KernelFunctionObj::Call)) {
      return nullptr;
    }
    auto function = ffi::detail::ObjectUnsafe::ObjectPtrFromUnowned<KernelFunctionObj>(
        static_cast<TVMFFIObject*>(handle));
    const LaunchPlan* plan = function->plan();
    if (plan == nullptr) return nullptr;
    return ffi::detail::ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(
        ObjectPtr<Object>(make_object<PreparedLaunchObj>(std::move(function), *plan)));
  }

 private:
  static int Call(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    auto* prepared = ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<PreparedLaunchObj>(
        static_cast<TVMFFIObject*>(self));
    KernelFunctionObj* function = prepared->function_.get();
    TVMFFISafeCallType entry = __atomic_load_n(&function->safe_call, __ATOMIC_RELAXED);
    if (TVM_FFI_PREDICT_FALSE(entry != &KernelFunctionObj::Call)) {
      return entry(ffi::detail::ObjectUnsafe::GetHeader(function), args, num_args, result);
    }
    TVM_FFI_SAFE_CALL_BEGIN();
    prepared->launch_.Run(args, num_args, result);
    TVM_FFI_SAFE_CALL_END();
  }

  ObjectPtr<KernelFunctionObj> function_;
  RepeatedLaunch launch_;  // refers to the module, which the function owns
};

Optional<Function> CudaModuleObj::GetFunction(const String& name) {
  auto found = indices_.find(name);
  if (found == indices_.end()) return std::nullopt;
  return Function(ObjectPtr<FunctionObj>(make_object<KernelFunctionObj>(
      GetObjectPtr<CudaModuleObj>(this), found->second, found->first)));
}

void CudaModuleObj::WriteToFile(const String& file_name, const String& format) const {
  if (images_.size() > 1) {
    TVM_FFI_THROW(ValueError) << "cannot write a module with " << images_.size()
                              << " device images to a file; save it to bytes";
  }
  const ModuleImage& image = *images_[0];
  if (format != "" && format != NameOf(image.format)) {
    TVM_FFI_THROW(ValueError) << "cannot write a CUDA module to a file: expected format "
                              << NameOf(image.format) << ", got " << format;
  }
  const std::string& content = image.on_devices.image();
  std::ofstream file(std::string(file_name), std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) TVM_FFI_THROW(OSError) << "cannot write a CUDA module to the file " << file_name;
}

Bytes CudaModuleObj::SaveToBytes() const {
  SavedModule module;
  for (const std::unique_ptr<ModuleImage>& image : images_) {
    module.images.push_back({image->format, image->architecture_text, image->on_devices.image()});
  }
  for (const Signature& signature : signatures_) module.kernels.push_back(signature.kernel);
  for (const LaunchPlan& plan : plans_) module.plans.push_back(plan.saved());
  return Bytes(EncodeModule(module));
}

void CudaModuleObj::Run(size_t index, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  if (index < signatures_.size()) return RunKernel(index, args, num_args);
  plans_[index - signatures_.size()].Run(images_, args, num_args, result);
}

void CudaModuleObj::RunKernel(size_t index, const TVMFFIAny* args, int32_t num_args) {
  const Signature& signature = signatures_[index];
  const std::string& symbol = signature.kernel.symbol;
  Arguments arguments(signature, args, num_args);
  const Driver& driver = Driver::Get();
  int device_id = arguments.device_id();
  if (device_id < 0) device_id = CurrentDevice(driver);
  ImageOnDevice& device = images_[0]->on_devices.At(driver, device_id);
  ContextScope scope(driver, device.context());
  KernelLaunch launch;
  launch.kernel = device.Find(index, symbol);
  device.ReserveSharedMemory(index, arguments.launch()[kSharedMemory], symbol);
  launch.fields = arguments.launch();
  launch.has_cluster = signature.has_cluster;
  launch.arguments = arguments.addresses();
  launch.symbol = &symbol;
  launch.device_id = device_id;
  LaunchKernel(driver, launch);
  scope.Restore();
}

ffi::Module NewCudaModule(SavedModule module) {
  for (const SavedImage& image : module.images) CheckImage(image.content, NameOf(image.format));
  std::vector<Signature> signatures;
  for (SavedKernel& kernel : module.kernels) signatures.push_back(ReadSignature(std::move(kernel)));
  return ffi::Module(make_object<CudaModuleObj>(std::move(module.images), std::move(signatures),
                                                std::move(module.plans)));
}

std::vector<std::string> ReadStrings(const Any& value) {
  std::vector<std::string> texts;
  for (const String& text : value.cast<Array<String>>()) texts.emplace_back(text);
  return texts;
}

void CheckParts(const Array<Any>& parts, size_t count, const char* expected) {
  if (parts.size() != count) {
    TVM_FFI_THROW(ValueError) << "CUDA module: expected " << count << " elements for " << expected
                              << ", got " << parts.size();
  }
}

SavedKernel ReadKernel(const Array<Any>& parts) {
  CheckParts(parts, 5, "a CUDA kernel [name, symbol, parameters, launch, fixed]");
  SavedKernel kernel{parts[0].cast<String>(),
                     parts[1].cast<String>(),
                     ReadStrings(parts[2]),
                     ReadStrings(parts[3]),
                     {}};
  for (const auto& [name, value] : parts[4].cast<Map<String, int64_t>>()) {
    // A negative value becomes an unsigned value above the limit, so ReadSignature rejects it.
    kernel.fixed.emplace_back(name, static_cast<uint64_t>(value));
  }
  return kernel;
}

ffi::Module Create(const Bytes& image, const String& format, const Array<Array<Any>>& kernels) {
  std::string_view bytes(image.data(), image.size());
  SavedModule module;
  module.images.push_back({CheckImage(bytes, std::string(format)), "", std::string(bytes)});
  for (const Array<Any>& kernel : kernels) module.kernels.push_back(ReadKernel(kernel));
  return NewCudaModule(std::move(module));
}

ffi::Module CreateWithPlans(const Array<Array<Any>>& images, const Array<Array<Any>>& kernels,
                            const Array<Array<Any>>& plans) {
  SavedModule module;
  for (const Array<Any>& parts : images) {
    CheckParts(parts, 3, "a CUDA image [content, format, architecture]");
    Bytes content = parts[0].cast<Bytes>();
    std::string_view bytes(content.data(), content.size());
    module.images.push_back({CheckImage(bytes, std::string(parts[1].cast<String>())),
                             parts[2].cast<String>(), std::string(bytes)});
  }
  if (module.images.empty()) {
    TVM_FFI_THROW(ValueError) << "a CUDA module must have at least one device image, got none";
  }
  for (const Array<Any>& kernel : kernels) module.kernels.push_back(ReadKernel(kernel));
  for (const Array<Any>& parts : plans) {
    CheckParts(parts, 4, "a launch plan [name, documentation, metadata, program]");
    Bytes program = parts[3].cast<Bytes>();
    module.plans.push_back({parts[0].cast<String>(), parts[1].cast<String>(),
                            parts[2].cast<String>(), std::string(program.data(), program.size())});
  }
  return NewCudaModule(std::move(module));
}

ffi::Module LoadFromBytes(const Bytes& bytes) {
  return NewCudaModule(DecodeModule(std::string_view(bytes.data(), bytes.size())));
}

Array<String> FunctionNames(const ffi::Module& module) {
  const CudaModuleObj* own = ModuleClass<CudaModuleObj>::From(module);
  return own == nullptr ? Array<String>() : own->FunctionNames();
}

}  // namespace
}  // namespace cuda

void RegisterCudaModules() {
  runtime::AddPreparedForm(&cuda::PreparedLaunchObj::New);
  reflection::GlobalDef()
      .def("pytvmffi.CUDAModuleCreate", &cuda::Create)
      .def("pytvmffi.CUDAModuleCreateWithPlans", &cuda::CreateWithPlans)
      .def("pytvmffi.Module.function_names.cuda_driver", &cuda::FunctionNames)
      .def("pytvmffi.CUDASetDevice", &cuda::SetDevice)
      .def("ffi.Module.load_from_bytes.cuda_driver", &cuda::LoadFromBytes);
}

}  // namespace tvm::ffi::extra
