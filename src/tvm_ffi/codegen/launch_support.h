/* SPDX-License-Identifier: Apache-2.0
 *
 * Support code of generated launch functions: the CUDA driver, devices, device images and launches.
 *
 * The driver is opened by the first call.  Its types and constants are declared here, so no CUDA
 * header or library is needed.  An image is loaded on a device by the first launch there, and is
 * never unloaded: when a library is unloaded, the driver may already be gone.  One lock guards all
 * initialization; its results are published with release stores and read without the lock. */
#ifndef LAUNCH_SUPPORT_H_
#define LAUNCH_SUPPORT_H_

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Limits and sizes of buffers.  LAUNCH_DEFAULT_SHARED_MEMORY and LAUNCH_PORTABLE_CLUSTER are the
 * shared memory and the cluster size that the driver allows for every kernel. */
enum {
  LAUNCH_MAX_DEVICES = 256,
  LAUNCH_DEFAULT_SHARED_MEMORY = 48 << 10, /* bytes per block; more need a kernel attribute */
  LAUNCH_PORTABLE_CLUSTER = 8,             /* blocks per cluster; more need a kernel attribute */
  LAUNCH_LOG_BYTES = 4096,                 /* bytes in the buffer for the PTX compiler's log */
  LAUNCH_MESSAGE_BYTES = 1024              /* bytes in the buffer for an error message */
};
/* Driver constants: device, kernel and launch attributes; options of the PTX compiler. */
enum {
  LAUNCH_CAPABILITY_MAJOR = 75,
  LAUNCH_CAPABILITY_MINOR = 76,
  LAUNCH_MAX_SHARED_MEMORY = 97,
  LAUNCH_ALLOW_SHARED_MEMORY = 8,
  LAUNCH_ALLOW_CLUSTER = 14,
  LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  LAUNCH_ATTRIBUTE_CLUSTER = 4,
  LAUNCH_ATTRIBUTE_PROGRAMMATIC = 6,
  LAUNCH_LOG = 5,
  LAUNCH_LOG_SIZE = 6,
  LAUNCH_CAPTURE_RELAXED = 2
};
/* Bits of the parameter `flags` of `launch_run`. */
enum { LAUNCH_HAS_CLUSTER = 1, LAUNCH_IS_COOPERATIVE = 2, LAUNCH_IS_PROGRAMMATIC = 4 };

/* Sizes of a launch, passed by value so that they stay in registers. */
typedef struct {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, cluster_x, cluster_y, cluster_z;
  unsigned bytes; /* dynamic shared memory per block, in bytes */
} launch_numbers;

/* Same layout as the struct `CUlaunchAttribute` of the driver. */
typedef struct {
  unsigned id, padding;
  union {
    char bytes[64];
    int flag;
    unsigned cluster[3];
  } value;
} launch_attribute;

/* Same layout as the struct `CUlaunchConfig` of the driver. */
typedef struct {
  unsigned grid[3], block[3], shared_memory_bytes;
  void* stream;
  launch_attribute* attributes;
  unsigned num_attributes;
} launch_config;

/* Driver functions, in the ORDER of launch_driver_names. */
static struct {
  int (*init)(unsigned flags);
  int (*error_name)(int status, const char** name);
  int (*error_text)(int status, const char** text);
  int (*device_get)(int* device, int ordinal);
  int (*device_name)(char* name, int size, int device);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*context_retain)(void** context, int device);
  int (*context_current)(void** context);
  int (*context_set)(void* context);
  int (*context_device)(int* device);
  int (*load)(void** loaded, const void* image, unsigned num, const int* options, void** values);
  int (*find)(void** kernel, void* loaded, const char* name);
  int (*set_attribute)(void* kernel, int attribute, int value);
  int (*launch)(void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_memory_bytes, void* stream,
                void** arguments, void** extra);
  int (*launch_ex)(const launch_config* config, void* kernel, void** arguments, void** extra);
  int (*capture_mode)(int* mode);
} launch_driver;

static const char* const launch_driver_names[] = {"cuInit",
                                                  "cuGetErrorName",
                                                  "cuGetErrorString",
                                                  "cuDeviceGet",
                                                  "cuDeviceGetName",
                                                  "cuDeviceGetAttribute",
                                                  "cuDevicePrimaryCtxRetain",
                                                  "cuCtxGetCurrent",
                                                  "cuCtxSetCurrent",
                                                  "cuCtxGetDevice",
                                                  "cuModuleLoadDataEx",
                                                  "cuModuleGetFunction",
                                                  "cuFuncSetAttribute",
                                                  "cuLaunchKernel",
                                                  "cuLaunchKernelEx",
                                                  "cuThreadExchangeStreamCaptureMode"};
/* Number of functions that must exist; older drivers lack the last two functions. */
enum { LAUNCH_NUM_REQUIRED = 14 };

static pthread_mutex_t launch_mutex = PTHREAD_MUTEX_INITIALIZER;
static int launch_is_open; /* 1 after `launch_driver` is filled in and the driver initialized */

typedef struct {
  void* context;  /* the primary context of the device, which is never released */
  int device;     /* CUdevice */
  int capability; /* compute capability, 90 for 9.0; 0 until all other members are set */
} launch_device;
static launch_device launch_devices[LAUNCH_MAX_DEVICES];

/* A device image.  `number` and `suffix` are 90 and 'a' for sm_90a, 0 if the architecture is
 * unknown.  `loaded[i]` is the driver's module on device i, NULL until the image is loaded on
 * device i. */
typedef struct {
  const void* bytes;
  int is_ptx, number;
  char suffix;
  void* loaded[LAUNCH_MAX_DEVICES];
} launch_image;

/* A kernel in one device image; element i of each array belongs to device i. */
typedef struct {
  launch_image* image;
  const char* name;
  void* handles[LAUNCH_MAX_DEVICES];
  unsigned allowed_bytes[LAUNCH_MAX_DEVICES]; /* bytes of dynamic shared memory allowed so far */
  bool has_clusters[LAUNCH_MAX_DEVICES];      /* true if clusters above 8 blocks are allowed */
} launch_kernel;

/* ---- Errors ---------------------------------------------------------------------------------- */

WRAPPER_COLD int launch_fail(const char* function, int status, const char* where, const char* log) {
  char text[LAUNCH_MESSAGE_BYTES];
  const char *name = NULL, *meaning = NULL;
  if (launch_driver.error_name(status, &name) != 0 || name == NULL) name = "unknown error";
  if (launch_driver.error_text(status, &meaning) != 0 || meaning == NULL) {
    meaning = "no description";
  }
  snprintf(text, sizeof(text), "CUDA driver: %s failed%s: %s (%d): %s", function, where, name,
           status, meaning);
  return wrapper_fail("RuntimeError", text, log[0] == '\0' ? NULL : "\n",
                      log[0] == '\0' ? NULL : log, NULL, NULL, NULL, NULL);
}

WRAPPER_COLD int launch_fail_device(const char* function, int status, int device_id) {
  char where[64];
  snprintf(where, sizeof(where), " on cuda:%d", device_id);
  return launch_fail(function, status, where, "");
}

WRAPPER_COLD int launch_fail_kernel(const char* function, int status, const launch_kernel* kernel,
                                    int device_id) {
  char where[LAUNCH_MESSAGE_BYTES / 2];
  snprintf(where, sizeof(where), " for kernel `%s` on cuda:%d", kernel->name, device_id);
  return launch_fail(function, status, where, "");
}

/* Raise the error that the driver is not available; its message contains `reason` and `symbol`. */
WRAPPER_COLD int launch_fail_unavailable(const char* reason, const char* symbol) {
  return wrapper_fail("RuntimeError", "the CUDA driver is not available: ", reason, symbol,
                      "; it comes with the NVIDIA driver of the machine", NULL, NULL, NULL);
}

/* ---- Driver and device initialization, under `launch_mutex` ---------------------------------- */

WRAPPER_COLD int launch_open(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char* reason = dlerror();
    return launch_fail_unavailable(reason == NULL ? "libcuda.so.1" : reason, NULL);
  }
  for (size_t i = 0; i < sizeof(launch_driver_names) / sizeof(launch_driver_names[0]); ++i) {
    void* symbol = dlsym(library, launch_driver_names[i]);
    if (symbol == NULL && i < LAUNCH_NUM_REQUIRED) {
      return launch_fail_unavailable("libcuda.so.1 has no function ", launch_driver_names[i]);
    }
    memcpy((char*)&launch_driver + i * sizeof(symbol), &symbol, sizeof(symbol));
  }
  int status = launch_driver.init(0);
  if (status != 0) return launch_fail("cuInit", status, "", "");
  __atomic_store_n(&launch_is_open, 1, __ATOMIC_RELEASE);
  return 0;
}

/* Set the thread's stream capture mode, and store the previous one.  The relaxed mode allows
 * loading during a capture. */
WRAPPER_COLD void launch_exchange_capture_mode(int* mode) {
  if (launch_driver.capture_mode != NULL) launch_driver.capture_mode(mode);
}

WRAPPER_COLD int launch_init_device(int device_id, launch_device* found) {
  int major = 0, minor = 0, mode = LAUNCH_CAPTURE_RELAXED;
  int status = launch_driver.device_get(&found->device, device_id);
  if (status != 0) return launch_fail_device("cuDeviceGet", status, device_id);
  status = launch_driver.device_attribute(&major, LAUNCH_CAPABILITY_MAJOR, found->device);
  if (status == 0) {
    status = launch_driver.device_attribute(&minor, LAUNCH_CAPABILITY_MINOR, found->device);
  }
  if (status != 0) return launch_fail_device("cuDeviceGetAttribute", status, device_id);
  launch_exchange_capture_mode(&mode);
  status = launch_driver.context_retain(&found->context, found->device);
  launch_exchange_capture_mode(&mode);
  if (status != 0) return launch_fail_device("cuDevicePrimaryCtxRetain", status, device_id);
  __atomic_store_n(&found->capability, 10 * major + minor, __ATOMIC_RELEASE);
  return 0;
}

WRAPPER_COLD int launch_init_device_once(int device_id) {
  launch_device* device = &launch_devices[device_id];
  int code = 0;
  pthread_mutex_lock(&launch_mutex);
  if (!launch_is_open) code = launch_open();
  if (code == 0 && device->capability == 0) code = launch_init_device(device_id, device);
  pthread_mutex_unlock(&launch_mutex);
  return code;
}

/* ---- Devices --------------------------------------------------------------------------------- */

/* Return the initialized device of a launch; NULL if an error was raised. */
WRAPPER_HOT const launch_device* launch_device_of(int device_id) {
  if (device_id < 0 || device_id >= LAUNCH_MAX_DEVICES) {
    wrapper_fail_numbers("ValueError", 2, "there is no cuda:", device_id,
                         ": the number of supported devices is ", LAUNCH_MAX_DEVICES, NULL, 0,
                         NULL);
    return NULL;
  }
  if (__atomic_load_n(&launch_devices[device_id].capability, __ATOMIC_ACQUIRE) == 0 &&
      launch_init_device_once(device_id) != 0) {
    return NULL;
  }
  return &launch_devices[device_id];
}

/* Store the device of the current context; store device 0 if no context is current. */
WRAPPER_HOT int launch_current_device(int* device_id) {
  void* context = NULL;
  int status, code = 0;
  *device_id = 0;
  if (!__atomic_load_n(&launch_is_open, __ATOMIC_ACQUIRE)) {
    pthread_mutex_lock(&launch_mutex);
    if (!launch_is_open) code = launch_open();
    pthread_mutex_unlock(&launch_mutex);
    if (code != 0) return code;
  }
  status = launch_driver.context_current(&context);
  if (status == 0 && context != NULL) status = launch_driver.context_device(device_id);
  return status == 0 ? 0 : launch_fail("cuCtxGetDevice", status, "", "");
}

/* ---- Selection of a device image ------------------------------------------------------------- */

/* Return the rank of an image for a device; 0 if the image cannot run on the device.  Machine code
 * ranks above PTX, because PTX must be compiled.  Code for a newer architecture ranks above code
 * for an older one.  Code with the suffix `a` runs on one architecture, and code with the suffix
 * `f` runs on one family of architectures. */
WRAPPER_HOT int launch_image_rank(const launch_image* image, int capability) {
  int number = image->number, is_family = number / 10 == capability / 10;
  if (number == 0) return 1;
  if (image->suffix == 'a' ? number != capability : number > capability) return 0;
  if ((image->suffix == 'f' || !image->is_ptx) && !is_family) return 0;
  return (image->is_ptx ? 0 : 100000) + 10 * number + (image->suffix == 0 ? 0 : 1) + 1;
}

/* Return the kernel whose image has the highest rank; NULL if no image can run. */
WRAPPER_HOT launch_kernel* launch_select_kernel(launch_kernel* kernels, int count, int capability) {
  launch_kernel* best = NULL;
  int best_rank = 0;
  for (int i = 0; i < count; ++i) {
    int rank = launch_image_rank(kernels[i].image, capability);
    if (rank > best_rank) best_rank = rank, best = &kernels[i];
  }
  return best;
}

/* Raise an error for a GPU without a suitable image.  The message consists of the pieces a to d
 * and, between them, the device id, the name of the GPU and its architecture. */
WRAPPER_COLD int launch_fail_image(const char* a, int device_id, const char* b, const char* c,
                                   const char* d) {
  char name[256] = "", number[WRAPPER_NUMBER_SIZE], architecture[WRAPPER_NUMBER_SIZE + 8];
  const launch_device* device = &launch_devices[device_id];
  if (launch_driver.device_name(name, sizeof(name), device->device) != 0 || name[0] == '\0') {
    snprintf(name, sizeof(name), "a GPU without a name");
  }
  name[sizeof(name) - 1] = '\0';
  snprintf(architecture, sizeof(architecture), "sm_%d", device->capability);
  return wrapper_fail("RuntimeError", a, wrapper_number(device_id, number), b, name, c,
                      architecture, d);
}

/* ---- Kernels on a device whose context is current, under `launch_mutex` ---------------------- */

WRAPPER_COLD int launch_load(launch_image* image, int device_id) {
  char log[LAUNCH_LOG_BYTES] = "";
  const int options[] = {LAUNCH_LOG, LAUNCH_LOG_SIZE};
  void* values[] = {log, (void*)(uintptr_t)sizeof(log)};
  char where[64];
  int status = launch_driver.load(&image->loaded[device_id], image->bytes, 2, options, values);
  log[sizeof(log) - 1] = '\0';
  if (status == 0) return 0;
  image->loaded[device_id] = NULL;
  snprintf(where, sizeof(where), " on cuda:%d", device_id);
  return launch_fail("cuModuleLoadDataEx", status, where, log);
}

WRAPPER_COLD int launch_find_locked(launch_kernel* kernel, int device_id) {
  void* handle = NULL;
  int status;
  if (kernel->handles[device_id] != NULL) return 0;
  if (kernel->image->loaded[device_id] == NULL && launch_load(kernel->image, device_id) != 0) {
    return -1;
  }
  status = launch_driver.find(&handle, kernel->image->loaded[device_id], kernel->name);
  if (status != 0) return launch_fail_kernel("cuModuleGetFunction", status, kernel, device_id);
  kernel->allowed_bytes[device_id] = LAUNCH_DEFAULT_SHARED_MEMORY;
  __atomic_store_n(&kernel->handles[device_id], handle, __ATOMIC_RELEASE);
  return 0;
}

WRAPPER_COLD int launch_find(launch_kernel* kernel, int device_id) {
  int code, mode = LAUNCH_CAPTURE_RELAXED;
  pthread_mutex_lock(&launch_mutex);
  launch_exchange_capture_mode(&mode);
  code = launch_find_locked(kernel, device_id);
  launch_exchange_capture_mode(&mode);
  pthread_mutex_unlock(&launch_mutex);
  return code;
}

WRAPPER_COLD int launch_allow_memory_locked(launch_kernel* kernel, int device_id, unsigned bytes) {
  char where[LAUNCH_MESSAGE_BYTES / 2];
  int max_bytes = 0, status;
  if (bytes <= kernel->allowed_bytes[device_id]) return 0;
  status = launch_driver.device_attribute(&max_bytes, LAUNCH_MAX_SHARED_MEMORY,
                                          launch_devices[device_id].device);
  if (status == 0 && bytes > (unsigned)max_bytes) {
    snprintf(where, sizeof(where),
             "kernel `%s` needs %u bytes of shared memory, and a block on cuda:%d has at most %d",
             kernel->name, bytes, device_id, max_bytes);
    return wrapper_fail("RuntimeError", where, NULL, NULL, NULL, NULL, NULL, NULL);
  }
  status = launch_driver.set_attribute(kernel->handles[device_id], LAUNCH_ALLOW_SHARED_MEMORY,
                                       (int)bytes);
  if (status != 0) {
    snprintf(where, sizeof(where),
             " for kernel `%s` on cuda:%d with %u bytes of dynamic shared memory", kernel->name,
             device_id, bytes);
    return launch_fail("cuFuncSetAttribute", status, where, "");
  }
  __atomic_store_n(&kernel->allowed_bytes[device_id], bytes, __ATOMIC_RELEASE);
  return 0;
}

WRAPPER_COLD int launch_allow_clusters_locked(launch_kernel* kernel, int device_id) {
  int status;
  if (kernel->has_clusters[device_id]) return 0;
  status = launch_driver.set_attribute(kernel->handles[device_id], LAUNCH_ALLOW_CLUSTER, 1);
  if (status != 0) return launch_fail_kernel("cuFuncSetAttribute", status, kernel, device_id);
  __atomic_store_n(&kernel->has_clusters[device_id], true, __ATOMIC_RELEASE);
  return 0;
}

/* Allow a kernel `bytes` of dynamic shared memory; if `bytes` is 0, allow clusters above 8
 * blocks. */
WRAPPER_COLD int launch_allow(launch_kernel* kernel, int device_id, unsigned bytes) {
  int code;
  pthread_mutex_lock(&launch_mutex);
  code = bytes == 0 ? launch_allow_clusters_locked(kernel, device_id)
                    : launch_allow_memory_locked(kernel, device_id, bytes);
  pthread_mutex_unlock(&launch_mutex);
  return code;
}

/* ---- Kernel launch --------------------------------------------------------------------------- */

WRAPPER_COLD int launch_fail_launch(const char* function, int status, const launch_kernel* kernel,
                                    int device_id, launch_numbers n) {
  char where[LAUNCH_MESSAGE_BYTES / 2];
  snprintf(where, sizeof(where),
           " for kernel `%s` on cuda:%d with grid (%u, %u, %u), block (%u, %u, %u), %u bytes of "
           "dynamic shared memory",
           kernel->name, device_id, n.grid_x, n.grid_y, n.grid_z, n.block_x, n.block_y, n.block_z,
           n.bytes);
  return launch_fail(function, status, where, "");
}

WRAPPER_COLD int launch_with_attributes(launch_kernel* kernel, int device_id, launch_numbers n,
                                        unsigned flags, void* stream, void** arguments) {
  launch_attribute attributes[3], *next = attributes;
  launch_config config = {{n.grid_x, n.grid_y, n.grid_z},
                          {n.block_x, n.block_y, n.block_z},
                          n.bytes,
                          stream,
                          attributes,
                          0};
  int status;
  if (launch_driver.launch_ex == NULL) {
    return wrapper_fail("RuntimeError", "CUDA driver: it is too old for clusters and attributes",
                        ", which kernel `", kernel->name, "` needs", NULL, NULL, NULL);
  }
  if (n.cluster_x * n.cluster_y * n.cluster_z > LAUNCH_PORTABLE_CLUSTER &&
      !__atomic_load_n(&kernel->has_clusters[device_id], __ATOMIC_ACQUIRE) &&
      launch_allow(kernel, device_id, 0) != 0) {
    return -1;
  }
  memset(attributes, 0, sizeof(attributes));
  if (flags & LAUNCH_HAS_CLUSTER) {
    next->value.cluster[0] = n.cluster_x;
    next->value.cluster[1] = n.cluster_y;
    next->value.cluster[2] = n.cluster_z;
    next++->id = LAUNCH_ATTRIBUTE_CLUSTER;
  }
  if (flags & LAUNCH_IS_COOPERATIVE) {
    next->value.flag = 1;
    next++->id = LAUNCH_ATTRIBUTE_COOPERATIVE;
  }
  if (flags & LAUNCH_IS_PROGRAMMATIC) {
    next->value.flag = 1;
    next++->id = LAUNCH_ATTRIBUTE_PROGRAMMATIC;
  }
  config.num_attributes = (unsigned)(next - attributes);
  status = launch_driver.launch_ex(&config, kernel->handles[device_id], arguments, NULL);
  if (status == 0) return 0;
  return launch_fail_launch("cuLaunchKernelEx", status, kernel, device_id, n);
}

WRAPPER_HOT int launch_in_context(launch_kernel* kernel, int device_id, launch_numbers n,
                                  unsigned flags, void* stream, void** arguments) {
  void* handle = __atomic_load_n(&kernel->handles[device_id], __ATOMIC_ACQUIRE);
  int status;
  if (handle == NULL) {
    if (launch_find(kernel, device_id) != 0) return -1;
    handle = kernel->handles[device_id];
  }
  if (n.bytes > LAUNCH_DEFAULT_SHARED_MEMORY &&
      n.bytes > __atomic_load_n(&kernel->allowed_bytes[device_id], __ATOMIC_ACQUIRE) &&
      launch_allow(kernel, device_id, n.bytes) != 0) {
    return -1;
  }
  if (flags != 0) {
    return launch_with_attributes(kernel, device_id, n, flags, stream, arguments);
  }
  status = launch_driver.launch(handle, n.grid_x, n.grid_y, n.grid_z, n.block_x, n.block_y,
                                n.block_z, n.bytes, stream, arguments, NULL);
  if (status == 0) return 0;
  return launch_fail_launch("cuLaunchKernel", status, kernel, device_id, n);
}

/* Launch a kernel on the current stream of a device, and restore the previous context. */
WRAPPER_HOT int launch_run(launch_kernel* kernel, const launch_device* device, int device_id,
                           launch_numbers n, unsigned flags, void** arguments) {
  void* stream = TVMFFIEnvGetStream(kDLCUDA, device_id);
  void *previous = NULL, *context = device->context;
  int code, status = launch_driver.context_current(&previous);
  if (status != 0) return launch_fail("cuCtxGetCurrent", status, "", "");
  if (previous == context) {
    return launch_in_context(kernel, device_id, n, flags, stream, arguments);
  }
  status = launch_driver.context_set(context);
  if (status != 0) return launch_fail("cuCtxSetCurrent", status, "", "");
  code = launch_in_context(kernel, device_id, n, flags, stream, arguments);
  status = launch_driver.context_set(previous);
  if (status != 0 && code == 0) {
    return launch_fail("cuCtxSetCurrent", status, " while restoring the previous context", "");
  }
  return code;
}

#endif /* LAUNCH_SUPPORT_H_ */
