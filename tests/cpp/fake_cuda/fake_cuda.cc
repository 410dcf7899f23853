// SPDX-License-Identifier: Apache-2.0
#include "fake_cuda.h"

#include <cstring>
#include <list>
#include <sstream>

#include "cuda.h"
#include "cuda_runtime.h"

struct CUlib_st {
  bool is_live = true;
  std::list<CUkern_st> kernels;
};

struct CUkern_st {
  std::string name;
  CUlib_st* library;
};

namespace fake_cuda {
namespace {

struct PlannedFailure {
  std::string function;
  int status;
  int skip;
};

struct State {
  std::vector<std::string> calls;
  std::vector<Launch> launches;
  std::vector<PlannedFailure> failures;
  std::vector<Device> devices;
  std::function<void(const Launch&)> on_launch;
  int device = 0;
};

State& TheState() {
  static State state;
  return state;
}

// Contexts and modules are never freed, so that a use after unloading is detected.
std::list<CUlib_st>& Libraries() {
  static std::list<CUlib_st> libraries;
  return libraries;
}

// Records `function(arguments)` and returns the planned status; without one, the given status.
template <typename... Args>
int Record(const char* function, int status, const Args&... args) {
  std::ostringstream line;
  line << function << '(';
  [[maybe_unused]] const char* before = "";
  ((line << before << args, before = ", "), ...);
  line << ')';
  for (PlannedFailure& failure : TheState().failures) {
    if (failure.function == function && failure.skip-- == 0) status = failure.status;
  }
  if (status != 0) line << " -> " << status;
  TheState().calls.push_back(line.str());
  return status;
}

bool IsDevice(int device) {
  return device >= 0 && device < static_cast<int>(TheState().devices.size());
}

const CUkern_st* KernelOf(const void* handle) { return static_cast<const CUkern_st*>(handle); }

std::string NameOf(const CUkern_st* kernel) {
  if (kernel == nullptr) return "null";
  return kernel->library->is_live ? kernel->name : "dead " + kernel->name;
}

int StatusOf(const CUkern_st* kernel) {
  return kernel != nullptr && kernel->library->is_live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

int Load(const char* function, CUlib_st** library, const void* image, bool has_options) {
  std::istringstream words(static_cast<const char*>(image));
  std::string word;
  words >> word;
  int status = word == "FAKE" ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
  status = Record(function, status, has_options ? "image, options" : "image");
  if (status != 0) return status;
  CUlib_st& loaded = Libraries().emplace_back();
  while (words >> word) loaded.kernels.push_back({word, &loaded});
  *library = &loaded;
  return CUDA_SUCCESS;
}

int StatusOf(const CUlib_st* library) {
  return library != nullptr && library->is_live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

int Unload(const char* function, CUlib_st* library) {
  int status = StatusOf(library);
  status = Record(function, status, "library");
  if (status == 0) library->is_live = false;
  return status;
}

int GetKernel(const char* function, CUkern_st** kernel, CUlib_st* library, const char* name) {
  CUkern_st* found = nullptr;
  int status = StatusOf(library);
  if (status == 0) {
    for (CUkern_st& candidate : library->kernels) {
      if (candidate.name == name) found = &candidate;
    }
    if (found == nullptr) status = CUDA_ERROR_NOT_FOUND;
  }
  status = Record(function, status, name);
  if (status == 0) *kernel = found;
  return status;
}

int DeviceAttribute(const char* function, int* value, int attribute, int device) {
  int status = IsDevice(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  status = Record(function, status, attribute, device);
  if (status == 0) *value = TheState().devices[static_cast<size_t>(device)].shared_memory_optin;
  return status;
}

int DeviceCount(const char* function, int* count) {
  int status = Record(function, CUDA_SUCCESS);
  if (status == 0) *count = static_cast<int>(TheState().devices.size());
  return status;
}

int SetKernelAttribute(const char* function, const CUkern_st* kernel, int attribute, int value,
                       int device) {
  return Record(function, StatusOf(kernel), NameOf(kernel), attribute, value, device);
}

int AddLaunch(const char* function, Launch launch, const CUkern_st* kernel) {
  launch.kernel = NameOf(kernel);
  launch.device = TheState().device;
  int status = Record(function, StatusOf(kernel), launch.kernel);
  if (status != 0) return status;
  TheState().launches.push_back(launch);
  if (TheState().on_launch) TheState().on_launch(launch);
  return CUDA_SUCCESS;
}

const char* NameOfStatus(int status, const char* success, const char* invalid_value,
                         const char* not_found) {
  switch (status) {
    case CUDA_SUCCESS:
      return success;
    case CUDA_ERROR_INVALID_VALUE:
      return invalid_value;
    case CUDA_ERROR_NOT_FOUND:
      return not_found;
    default:
      return nullptr;
  }
}

const char* TextOfStatus(int status) {
  return NameOfStatus(status, "no error", "invalid argument", "named symbol not found");
}

}  // namespace

void Reset() {
  TheState() = State();
  TheState().devices.assign(3, Device{1000, 0});
}

std::vector<std::string> TakeCalls() {
  std::vector<std::string> calls;
  calls.swap(TheState().calls);
  return calls;
}

const std::vector<Launch>& Launches() { return TheState().launches; }
std::vector<Device>& Devices() { return TheState().devices; }
int CurrentDevice() { return TheState().device; }
void SetCurrentDevice(int device) { TheState().device = device; }

void OnLaunch(std::function<void(const Launch&)> callback) {
  TheState().on_launch = std::move(callback);
}

int LiveLibraries() {
  int count = 0;
  for (const CUlib_st& library : Libraries()) count += library.is_live ? 1 : 0;
  return count;
}

void FailOnce(const char* function, int status, int skip) {
  TheState().failures.push_back({function, status, skip});
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

// ---- Driver API -------------------------------------------------------------------------------

CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = NameOfStatus(error, "CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_NOT_FOUND");
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = TextOfStatus(error);
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  int status =
      Record("cuDeviceGet", IsDevice(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE, ordinal);
  if (status == 0) *device = ordinal;
  return static_cast<CUresult>(status);
}

CUresult cuDeviceGetCount(int* count) {
  return static_cast<CUresult>(DeviceCount("cuDeviceGetCount", count));
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return static_cast<CUresult>(DeviceAttribute("cuDeviceGetAttribute", value, attribute, device));
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**,
                           unsigned int num_jit_options, CUlibraryOption*, void**,
                           unsigned int num_options) {
  return static_cast<CUresult>(
      Load("cuLibraryLoadData", library, image, num_jit_options + num_options != 0));
}

CUresult cuLibraryUnload(CUlibrary library) {
  return static_cast<CUresult>(Unload("cuLibraryUnload", library));
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return static_cast<CUresult>(GetKernel("cuLibraryGetKernel", kernel, library, name));
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device) {
  int status = Record("cuKernelGetAttribute", StatusOf(kernel), attribute, NameOf(kernel), device);
  if (status == 0) *value = TheState().devices[static_cast<size_t>(device)].kernel_shared;
  return static_cast<CUresult>(status);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device) {
  return static_cast<CUresult>(
      SetKernelAttribute("cuKernelSetAttribute", kernel, attribute, value, device));
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_mem_bytes, CUstream stream,
                        void** args, void** extra) {
  Launch launch{"",
                0,
                {grid_x, grid_y, grid_z},
                {block_x, block_y, block_z},
                shared_mem_bytes,
                stream,
                args,
                {0, 0, 0}};
  const char* name = extra == nullptr ? "cuLaunchKernel" : "cuLaunchKernel with extra";
  return static_cast<CUresult>(AddLaunch(name, launch, KernelOf(function)));
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** args,
                          void** extra) {
  Launch launch{"",
                0,
                {config->gridDimX, config->gridDimY, config->gridDimZ},
                {config->blockDimX, config->blockDimY, config->blockDimZ},
                config->sharedMemBytes,
                config->hStream,
                args,
                {0, 0, 0}};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    std::memcpy(launch.cluster, &config->attrs[i].value.clusterDim, sizeof(launch.cluster));
  }
  const char* name = extra == nullptr ? "cuLaunchKernelEx" : "cuLaunchKernelEx with extra";
  return static_cast<CUresult>(AddLaunch(name, launch, KernelOf(function)));
}

// ---- Runtime API ------------------------------------------------------------------------------

const char* cudaGetErrorName(cudaError_t error) {
  const char* name =
      NameOfStatus(error, "cudaSuccess", "cudaErrorInvalidValue", "cudaErrorSymbolNotFound");
  return name == nullptr ? "unrecognized error code" : name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const char* text = TextOfStatus(error);
  return text == nullptr ? "unrecognized error code" : text;
}

cudaError_t cudaGetDevice(int* device) {
  int status = Record("cudaGetDevice", cudaSuccess);
  if (status == 0) *device = TheState().device;
  return static_cast<cudaError_t>(status);
}

cudaError_t cudaSetDevice(int device) {
  int status =
      Record("cudaSetDevice", IsDevice(device) ? cudaSuccess : cudaErrorInvalidDevice, device);
  if (status == 0) TheState().device = device;
  return static_cast<cudaError_t>(status);
}

cudaError_t cudaGetDeviceCount(int* count) {
  return static_cast<cudaError_t>(DeviceCount("cudaGetDeviceCount", count));
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return static_cast<cudaError_t>(
      DeviceAttribute("cudaDeviceGetAttribute", value, attribute, device));
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* image, cudaJitOption*, void**,
                                unsigned int num_jit_options, cudaLibraryOption*, void**,
                                unsigned int num_options) {
  return static_cast<cudaError_t>(
      Load("cudaLibraryLoadData", library, image, num_jit_options + num_options != 0));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return static_cast<cudaError_t>(Unload("cudaLibraryUnload", library));
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return static_cast<cudaError_t>(GetKernel("cudaLibraryGetKernel", kernel, library, name));
}

// Reports the value for the current device, like the real function of the runtime API.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  const CUkern_st* kernel = KernelOf(function);
  int status = Record("cudaFuncGetAttributes", StatusOf(kernel), NameOf(kernel));
  if (status != 0) return static_cast<cudaError_t>(status);
  const Device& device = TheState().devices[static_cast<size_t>(TheState().device)];
  attributes->sharedSizeBytes = static_cast<size_t>(device.kernel_shared);
  return cudaSuccess;
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute,
                                            int value, int device) {
  return static_cast<cudaError_t>(
      SetKernelAttribute("cudaKernelSetAttributeForDevice", kernel, attribute, value, device));
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args,
                             size_t shared_mem_bytes, cudaStream_t stream) {
  Launch launch{"",
                0,
                {grid.x, grid.y, grid.z},
                {block.x, block.y, block.z},
                shared_mem_bytes,
                stream,
                args,
                {0, 0, 0}};
  return static_cast<cudaError_t>(AddLaunch("cudaLaunchKernel", launch, KernelOf(function)));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** args) {
  Launch launch{"",
                0,
                {config->gridDim.x, config->gridDim.y, config->gridDim.z},
                {config->blockDim.x, config->blockDim.y, config->blockDim.z},
                config->dynamicSmemBytes,
                config->stream,
                args,
                {0, 0, 0}};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != cudaLaunchAttributeClusterDimension) continue;
    std::memcpy(launch.cluster, &config->attrs[i].val.clusterDim, sizeof(launch.cluster));
  }
  return static_cast<cudaError_t>(AddLaunch("cudaLaunchKernelExC", launch, KernelOf(function)));
}

}  // extern "C"
