// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_module.h"

#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <fstream>
#include <unordered_map>

#include "cuda/arguments.h"
#include "cuda/current_device.h"
#include "cuda/devices.h"
#include "cuda/module_format.h"
#include "module/module_class.h"

namespace tvm::ffi::extra {
namespace cuda {
namespace {

class CudaModuleObj final : public ModuleObj {
 public:
  CudaModuleObj(ImageFormat format, std::string image, std::vector<Signature> signatures)
      : format_(format),
        signatures_(std::move(signatures)),
        devices_(std::move(image), signatures_.size()) {
    ModuleClass<CudaModuleObj>::Learn(this);
    for (size_t i = 0; i < signatures_.size(); ++i) {
      const std::string& name = signatures_[i].text.name;
      if (!indices_.emplace(name, i).second) {
        TVM_FFI_THROW(ValueError) << "CUDA kernel `" << name << "` is given twice";
      }
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
    return String(signatures_[found->second].Documentation());
  }
  using ModuleObj::GetFunctionMetadata;
  Optional<String> GetFunctionMetadata(const String& name) override {
    auto found = indices_.find(name);
    if (found == indices_.end()) return std::nullopt;
    return String(signatures_[found->second].Metadata());
  }

  Array<String> GetWriteFormats() const override { return {String(NameOf(format_))}; }
  void WriteToFile(const String& file_name, const String& format) const override;
  Bytes SaveToBytes() const override;
  String InspectSource(const String& format) const override {
    bool is_asked_for = format == "" || format == "ptx";
    return format_ == ImageFormat::kPtx && is_asked_for ? String(devices_.image()) : String();
  }

  void Run(size_t index, const TVMFFIAny* args, int32_t num_args);

  Array<String> FunctionNames() const {
    std::vector<std::string> names;
    for (const Signature& signature : signatures_) names.push_back(signature.text.name);
    std::sort(names.begin(), names.end());
    return Array<String>(names.begin(), names.end());
  }

 private:
  void Launch(const Driver& driver, Kernel kernel, size_t index, int device_id,
              Arguments* arguments);

  ImageFormat format_;
  std::vector<Signature> signatures_;
  std::unordered_map<std::string, size_t> indices_;
  ImageOnDevices devices_;
};

// A kernel, which keeps its module alive.
class KernelFunctionObj : public FunctionObj {
 public:
  KernelFunctionObj(ObjectPtr<CudaModuleObj> module, size_t index)
      : module_(std::move(module)), index_(index) {
    safe_call = &Call;  // cpp_call stays null
  }

 private:
  static int Call(void* function, const TVMFFIAny* args, int32_t num_args, TVMFFIAny*) {
    TVM_FFI_SAFE_CALL_BEGIN();
    auto* self = ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<KernelFunctionObj>(
        static_cast<TVMFFIObject*>(function));
    self->module_->Run(self->index_, args, num_args);
    TVM_FFI_SAFE_CALL_END();
  }

  ObjectPtr<CudaModuleObj> module_;
  size_t index_;
};

Optional<Function> CudaModuleObj::GetFunction(const String& name) {
  auto found = indices_.find(name);
  if (found == indices_.end()) return std::nullopt;
  return Function(ObjectPtr<FunctionObj>(
      make_object<KernelFunctionObj>(GetObjectPtr<CudaModuleObj>(this), found->second)));
}

void CudaModuleObj::WriteToFile(const String& file_name, const String& format) const {
  if (format != "" && format != NameOf(format_)) {
    TVM_FFI_THROW(ValueError) << "this module is written as " << NameOf(format_) << ", not as "
                              << format;
  }
  std::ofstream file(std::string(file_name), std::ios::binary | std::ios::trunc);
  file.write(devices_.image().data(), static_cast<std::streamsize>(devices_.image().size()));
  file.close();
  if (!file) TVM_FFI_THROW(OSError) << "cannot write " << file_name;
}

Bytes CudaModuleObj::SaveToBytes() const {
  ModuleText module{format_, devices_.image(), {}};
  for (const Signature& signature : signatures_) module.kernels.push_back(signature.text);
  return Bytes(EncodeModule(module));
}

void CudaModuleObj::Run(size_t index, const TVMFFIAny* args, int32_t num_args) {
  const Signature& signature = signatures_[index];
  Arguments arguments(signature, args, num_args);
  const Driver& driver = Driver::Get();
  int device_id = arguments.device_id();
  if (device_id < 0) device_id = CurrentDevice(driver);
  ImageOnDevice& device = devices_.At(driver, device_id);
  ContextScope scope(driver, device.context());
  Kernel kernel = device.Find(index, signature.text.symbol);
  device.ReserveSharedMemory(index, arguments.launch()[kSharedMemory], signature.text.symbol);
  Launch(driver, kernel, index, device_id, &arguments);
  scope.Restore();
}

Dim3 Extents(const LaunchValues& launch, size_t first) {
  return {launch[first], launch[first + 1], launch[first + 2]};
}

std::string Show(const Dim3& extents) {
  return "(" + std::to_string(extents.x) + ", " + std::to_string(extents.y) + ", " +
         std::to_string(extents.z) + ")";
}

[[noreturn]] void ThrowLaunch(const Driver& driver, const char* function, Result status,
                              const std::string& symbol, int device_id,
                              const LaunchConfig& config) {
  driver.Throw(function, status,
               " for kernel `" + symbol + "` on cuda:" + std::to_string(device_id) + " with grid " +
                   Show(config.grid) + ", block " + Show(config.block) + ", " +
                   std::to_string(config.shared_memory_bytes) + " bytes of dynamic shared memory");
}

void CudaModuleObj::Launch(const Driver& driver, Kernel kernel, size_t index, int device_id,
                           Arguments* arguments) {
  const Signature& signature = signatures_[index];
  const LaunchValues& launch = arguments->launch();
  void* stream = TVMFFIEnvGetStream(kDLCUDA, device_id);
  LaunchAttribute cluster{};
  LaunchConfig config{Extents(launch, kGrid),
                      Extents(launch, kBlock),
                      launch[kSharedMemory],
                      static_cast<Stream>(stream),
                      &cluster,
                      1};
  if (!signature.has_cluster) {
    const Dim3 &grid = config.grid, &block = config.block;
    Result status = driver.launch_kernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                         config.shared_memory_bytes, config.stream,
                                         arguments->addresses(), nullptr);
    if (TVM_FFI_PREDICT_TRUE(status == 0)) return;
    ThrowLaunch(driver, "cuLaunchKernel", status, signature.text.symbol, device_id, config);
  }
  if (driver.launch_kernel_ex == nullptr) {
    TVM_FFI_THROW(RuntimeError) << "CUDA driver: it is too old for clusters, which kernel `"
                                << signature.text.symbol << "` needs";
  }
  cluster.id = kClusterDimension;
  cluster.value.cluster = {launch[kCluster], launch[kCluster + 1], launch[kCluster + 2]};
  Result status = driver.launch_kernel_ex(&config, kernel, arguments->addresses(), nullptr);
  if (status == 0) return;
  ThrowLaunch(driver, "cuLaunchKernelEx", status, signature.text.symbol, device_id, config);
}

ffi::Module NewCudaModule(ModuleText module) {
  CheckImage(module.image, NameOf(module.format));
  std::vector<Signature> signatures;
  for (KernelText& kernel : module.kernels) signatures.push_back(ReadSignature(std::move(kernel)));
  return ffi::Module(
      make_object<CudaModuleObj>(module.format, std::move(module.image), std::move(signatures)));
}

std::vector<std::string> ReadTexts(const Any& value) {
  std::vector<std::string> texts;
  for (const String& text : value.cast<Array<String>>()) texts.emplace_back(text);
  return texts;
}

KernelText ReadKernel(const Array<Any>& parts) {
  if (parts.size() != 5) {
    TVM_FFI_THROW(ValueError) << "a CUDA kernel is [name, symbol, parameters, launch, fixed], got "
                              << parts.size() << " parts";
  }
  KernelText kernel{parts[0].cast<String>(),
                    parts[1].cast<String>(),
                    ReadTexts(parts[2]),
                    ReadTexts(parts[3]),
                    {}};
  for (const auto& [name, value] : parts[4].cast<Map<String, int64_t>>()) {
    // Negative numbers become too large ones, which are refused like them.
    kernel.fixed.emplace_back(name, static_cast<uint64_t>(value));
  }
  return kernel;
}

ffi::Module Create(const Bytes& image, const String& format, const Array<Array<Any>>& kernels) {
  std::string_view bytes(image.data(), image.size());
  ModuleText module{CheckImage(bytes, std::string(format)), std::string(bytes), {}};
  for (const Array<Any>& kernel : kernels) module.kernels.push_back(ReadKernel(kernel));
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
  reflection::GlobalDef()
      .def("pytvmffi.CUDAModuleCreate", &cuda::Create)
      .def("pytvmffi.Module.function_names.cuda_driver", &cuda::FunctionNames)
      .def("pytvmffi.CUDASetDevice", &cuda::SetDevice)
      .def("ffi.Module.load_from_bytes.cuda_driver", &cuda::LoadFromBytes);
}

}  // namespace tvm::ffi::extra
