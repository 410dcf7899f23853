/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_driver.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kDevices = 2,
  kOther = 100,
  kMaxKernels = 8,
  kMaxFailures = 8,
  kMaxSharedMemory = 227 << 10
};

typedef struct Context {
  int number;
  int references;
} Context;

typedef struct Kernel {
  char name[64];
  struct Image* image;
  unsigned granted;       /* bytes of dynamic shared memory */
  int has_large_clusters; /* the driver fails for more than 8 blocks */
} Kernel;

typedef struct Image {
  Context* context;
  int is_live;
  int has_all_kernels; /* a fatbin, whose contents are not parsed */
  int num_kernels;
  Kernel kernels[kMaxKernels];
  struct Image* next;
} Image;

typedef struct Failure {
  char function[48];
  int status, skip;
} Failure;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Context contexts[kDevices] = {{0, 0}, {1, 0}};
static Context other = {kOther, 1};
static Image* images;
static char* calls;
static size_t num_bytes, capacity;
static Failure failures[kMaxFailures];
static int num_failures;
static int is_shut_down, ignores_launches;
static const void* last_image;
static int capabilities[kDevices] = {90, 90};
static void (*on_launch)(const FakeLaunch*, void*);
static void* on_launch_data;
static _Thread_local Context* current;

/* ---- Functions for tests
 * ------------------------------------------------------------------------ */

void fake_driver_reset(void) {
  pthread_mutex_lock(&mutex);
  num_bytes = 0;
  num_failures = is_shut_down = ignores_launches = 0;
  on_launch = NULL;
  current = NULL;
  for (int i = 0; i < kDevices; ++i) capabilities[i] = 90;
  pthread_mutex_unlock(&mutex);
}

void fake_driver_set_capability(int device, int capability) { capabilities[device] = capability; }

void fake_driver_fail(const char* function, int status, int skip) {
  pthread_mutex_lock(&mutex);
  Failure* failure = &failures[num_failures++ % kMaxFailures];
  snprintf(failure->function, sizeof(failure->function), "%s", function);
  failure->status = status;
  failure->skip = skip;
  pthread_mutex_unlock(&mutex);
}

size_t fake_driver_take_calls(char* text, size_t size) {
  pthread_mutex_lock(&mutex);
  size_t needed = num_bytes;
  if (size > 0) {
    size_t taken = needed < size - 1 ? needed : size - 1;
    if (taken > 0) memcpy(text, calls, taken);
    text[taken] = '\0';
    num_bytes = 0;
  }
  pthread_mutex_unlock(&mutex);
  return needed;
}

void fake_driver_on_launch(void (*callback)(const FakeLaunch*, void*), void* data) {
  on_launch = callback;
  on_launch_data = data;
}

const void* fake_driver_last_image(void) { return last_image; }

int fake_driver_live_images(void) {
  int count = 0;
  for (Image* image = images; image != NULL; image = image->next) count += image->is_live;
  return count;
}

int fake_driver_live_contexts(void) {
  int count = 0;
  for (int i = 0; i < kDevices; ++i) count += contexts[i].references;
  return count;
}

void fake_driver_use_another_context(void) { current = &other; }
int fake_driver_current_context(void) { return current == NULL ? -1 : current->number; }
void fake_driver_shut_down(void) { is_shut_down = 1; }
void fake_driver_ignore_launches(void) { ignores_launches = 1; }

/* ---- Driver functions
 * --------------------------------------------------------------------------- */

/* Records a call and returns the planned status; without one, the given status. */
static int record(const char* function, int status, const char* format, ...) {
  char line[512], arguments[384];
  va_list list;
  va_start(list, format);
  vsnprintf(arguments, sizeof(arguments), format, list);
  va_end(list);
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < num_failures; ++i) {
    if (strcmp(failures[i].function, function) == 0 && failures[i].skip-- == 0) {
      status = failures[i].status;
    }
  }
  if (is_shut_down) status = 4;
  int size = status == 0
                 ? snprintf(line, sizeof(line), "%s(%s)\n", function, arguments)
                 : snprintf(line, sizeof(line), "%s(%s) -> %d\n", function, arguments, status);
  if (num_bytes + (size_t)size > capacity) {
    capacity = 2 * (num_bytes + (size_t)size);
    calls = realloc(calls, capacity);
  }
  memcpy(calls + num_bytes, line, (size_t)size);
  num_bytes += (size_t)size;
  pthread_mutex_unlock(&mutex);
  return status;
}

static const char* name_of(const Context* context) {
  if (context == NULL) return "none";
  return context == &other ? "other" : context->number == 0 ? "0" : "1";
}

int cuInit(unsigned flags) { return record("cuInit", 0, "%u", flags); }

int cuGetErrorName(int status, const char** name) {
  switch (status) {
    case 1:
      *name = "CUDA_ERROR_INVALID_VALUE";
      return 0;
    case 2:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      return 0;
    case 100:
      *name = "CUDA_ERROR_NO_DEVICE";
      return 0;
    case 101:
      *name = "CUDA_ERROR_INVALID_DEVICE";
      return 0;
    case 200:
      *name = "CUDA_ERROR_INVALID_IMAGE";
      return 0;
    case 218:
      *name = "CUDA_ERROR_INVALID_PTX";
      return 0;
    case 400:
      *name = "CUDA_ERROR_INVALID_HANDLE";
      return 0;
    case 500:
      *name = "CUDA_ERROR_NOT_FOUND";
      return 0;
    case 700:
      *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
      return 0;
    case 701:
      *name = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
      return 0;
    case 719:
      *name = "CUDA_ERROR_LAUNCH_FAILED";
      return 0;
    default:
      *name = NULL;
      return 1;
  }
}

int cuGetErrorString(int status, const char** text) {
  const char* name;
  if (cuGetErrorName(status, &name) != 0) return *text = NULL, 1;
  *text = status == 2     ? "out of memory"
          : status == 500 ? "named symbol not found"
                          : "a description";
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  int is_known = ordinal >= 0 && ordinal < kDevices;
  int status = record("cuDeviceGet", is_known ? 0 : 101, "%d", ordinal);
  if (status == 0) *device = ordinal;
  return status;
}

int cuDeviceGetName(char* name, int size, int device) {
  int status = record("cuDeviceGetName", 0, "%d", device);
  if (status == 0) snprintf(name, (size_t)size, "Stand-in %d", device);
  return status;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  int is_known = attribute == 75 || attribute == 76 || attribute == 97;
  int status = record("cuDeviceGetAttribute", is_known ? 0 : 1, "%d, %d", attribute, device);
  if (status != 0) return status;
  *value = attribute == 75   ? capabilities[device] / 10
           : attribute == 76 ? capabilities[device] % 10
                             : kMaxSharedMemory;
  return 0;
}

int cuDevicePrimaryCtxRetain(Context** context, int device) {
  int status = record("cuDevicePrimaryCtxRetain", 0, "%d", device);
  if (status != 0) return status;
  __atomic_fetch_add(&contexts[device].references, 1, __ATOMIC_SEQ_CST);
  *context = &contexts[device];
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  int status = record("cuDevicePrimaryCtxRelease", 0, "%d", device);
  if (status == 0) __atomic_fetch_sub(&contexts[device].references, 1, __ATOMIC_SEQ_CST);
  return status;
}

int cuCtxGetCurrent(Context** context) {
  int status = record("cuCtxGetCurrent", 0, "%s", name_of(current));
  if (status == 0) *context = current;
  return status;
}

int cuCtxSetCurrent(Context* context) {
  int status = record("cuCtxSetCurrent", 0, "%s", name_of(context));
  if (status == 0) current = context;
  return status;
}

int cuCtxGetDevice(int* device) {
  int status = record("cuCtxGetDevice", current == NULL ? 201 : 0, "%s", name_of(current));
  if (status == 0) *device = current == &other ? 0 : current->number;
  return status;
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  static _Thread_local int thread_mode;
  int previous = thread_mode;
  int status = record("cuThreadExchangeStreamCaptureMode", 0, "%d", *mode);
  if (status != 0) return status;
  thread_mode = *mode;
  *mode = previous;
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = kDevices;
  return 0;
}

static const void* captured; /* the stream that is being captured */
static int is_capture_invalid;

static int is_captured(const void* stream) { return stream != NULL && stream == captured; }

int cuStreamBeginCapture_v2(void* stream, int mode) {
  int status = record("cuStreamBeginCapture", 0, "%p, %d", stream, mode);
  if (status == 0) captured = stream;
  is_capture_invalid = 0;
  return status;
}

/* During a capture, fails and makes it invalid, as the driver does. */
int cuStreamSynchronize(void* stream) {
  int fails = is_captured(stream);
  is_capture_invalid |= fails;
  return record("cuStreamSynchronize", fails ? 900 : 0, "%p", stream);
}

int cuStreamEndCapture(void* stream, void** graph) {
  int status = record("cuStreamEndCapture", is_capture_invalid ? 901 : 0, "%p", stream);
  captured = NULL;
  if (status != 0) return status;
  *graph = NULL;
  return 0;
}

/* Not recorded: a query has no effect. */
int cuStreamIsCapturing(void* stream, int* status) {
  *status = !is_captured(stream) ? 0 : is_capture_invalid ? 2 : 1;
  return 0;
}

static void add_kernel(Image* image, const char* name, size_t size) {
  if (image->num_kernels == kMaxKernels || size == 0) return;
  Kernel* kernel = &image->kernels[image->num_kernels++];
  snprintf(kernel->name, sizeof(kernel->name), "%.*s", (int)size, name);
  kernel->image = image;
  kernel->granted = 48 << 10;
}

static const char* kEndOfName = " \t\r\n(";

/* Collects the kernel names from the sections `.text.NAME` of an ELF file. */
static void find_sections(Image* image, const char* bytes) {
  uint64_t table, at;
  uint16_t size, count, names;
  uint32_t name;
  memcpy(&table, bytes + 40, 8);
  memcpy(&size, bytes + 58, 2);
  memcpy(&count, bytes + 60, 2);
  memcpy(&names, bytes + 62, 2);
  memcpy(&at, bytes + table + (uint64_t)names * size + 24, 8);
  for (unsigned i = 0; i < count; ++i) {
    memcpy(&name, bytes + table + (uint64_t)i * size, 4);
    const char* text = bytes + at + name;
    if (strncmp(text, ".text.", 6) == 0) add_kernel(image, text + 6, strlen(text + 6));
  }
}

static void find_kernels(Image* image, const char* bytes) {
  int is_elf = memcmp(bytes,
                      "\x7f"
                      "ELF",
                      4) == 0;
  int is_fatbin = memcmp(bytes, "\x50\xed\x55\xba", 4) == 0;
  if ((is_elf || is_fatbin) && memcmp(bytes + (is_elf ? 64 : 16), "FAKE ", 5) != 0) {
    image->has_all_kernels = is_fatbin;
    if (is_elf) find_sections(image, bytes);
    return;
  }
  if (is_elf || is_fatbin) {
    /* Parses the image text after the header of 64 or 16 bytes; words are separated by one space.
     * */
    const char* word = bytes + (bytes[0] == 0x7f ? 64 : 16) + strlen("FAKE ");
    for (size_t size; (size = strcspn(word, " ")) > 0; word += size + (word[size] == ' ')) {
      add_kernel(image, word, size);
    }
    return;
  }
  for (const char* at = bytes; (at = strstr(at, ".entry")) != NULL;) {
    at += strlen(".entry");
    at += strspn(at, " \t\r\n");
    add_kernel(image, at, strcspn(at, kEndOfName));
  }
}

int cuModuleLoadDataEx(Image** loaded, const void* image, unsigned num_options, const int* options,
                       void** values) {
  int is_bad = strstr((const char*)image, "bad instruction") != NULL;
  int status = record("cuModuleLoadDataEx",
                      is_bad            ? 218
                      : current == NULL ? 201
                                        : 0,
                      "%s", name_of(current));
  if (is_bad && num_options == 2 && options[0] == 5 && options[1] == 6) {
    snprintf(values[0], (size_t)(uintptr_t)values[1], "ptxas: line 3; bad instruction");
  }
  if (status != 0) return status;
  last_image = image;
  Image* made = calloc(1, sizeof(Image));
  made->context = current;
  made->is_live = 1;
  find_kernels(made, image);
  pthread_mutex_lock(&mutex);
  made->next = images;
  images = made;
  pthread_mutex_unlock(&mutex);
  *loaded = made;
  return 0;
}

int cuModuleUnload(Image* image) {
  int is_right = image->is_live && image->context == current;
  int status = record("cuModuleUnload", is_right ? 0 : 400, "%s", name_of(image->context));
  if (status == 0) image->is_live = 0;
  return status;
}

int cuModuleGetFunction(Kernel** kernel, Image* image, const char* name) {
  Kernel* found = NULL;
  for (int i = 0; i < image->num_kernels; ++i) {
    if (strcmp(image->kernels[i].name, name) == 0) found = &image->kernels[i];
  }
  if (found == NULL && image->has_all_kernels && image->num_kernels < kMaxKernels) {
    add_kernel(image, name, strlen(name));
    found = &image->kernels[image->num_kernels - 1];
  }
  int status = !image->is_live ? 400 : found == NULL ? 500 : 0;
  status = record("cuModuleGetFunction", status, "%s on %s", name, name_of(image->context));
  if (status == 0) *kernel = found;
  return status;
}

int cuFuncSetAttribute(Kernel* kernel, int attribute, int value) {
  int is_right = (attribute == 8 && value <= kMaxSharedMemory) || attribute == 14;
  int status = is_right ? 0 : 1;
  status = record("cuFuncSetAttribute", status, "%s, %d, %d", kernel->name, attribute, value);
  if (status != 0) return status;
  if (attribute == 14) kernel->has_large_clusters = value;
  if (attribute == 8) __atomic_store_n(&kernel->granted, (unsigned)value, __ATOMIC_SEQ_CST);
  return 0;
}

static int launch(const char* function, Kernel* kernel, FakeLaunch* seen) {
  if (ignores_launches) return 0;
  const unsigned *grid = seen->grid, *block = seen->block;
  int status = 0;
  if (seen->shared_memory_bytes > __atomic_load_n(&kernel->granted, __ATOMIC_SEQ_CST)) status = 1;
  if (block[0] * block[1] * block[2] > 1024) status = 1;
  if (!kernel->image->is_live || kernel->image->context != current) status = 400;
  char cluster[96] = "";
  size_t used = 0;
  if (seen->cluster[0] != 0) {
    unsigned blocks = seen->cluster[0] * seen->cluster[1] * seen->cluster[2];
    for (int i = 0; i < 3; ++i) {
      if (seen->cluster[i] == 0 || grid[i] % seen->cluster[i] != 0) status = 1;
    }
    if (blocks > (kernel->has_large_clusters ? 16u : 8u)) status = 1;
    used = (size_t)snprintf(cluster, sizeof(cluster), ", cluster %u %u %u", seen->cluster[0],
                            seen->cluster[1], seen->cluster[2]);
  }
  snprintf(cluster + used, sizeof(cluster) - used, "%s%s",
           seen->is_cooperative ? ", cooperative" : "",
           seen->is_programmatic ? ", programmatic" : "");
  status = record(
      function, status, "%s on %s, grid %u %u %u, block %u %u %u, %u bytes, stream %#lx%s",
      kernel->name, name_of(kernel->image->context), grid[0], grid[1], grid[2], block[0], block[1],
      block[2], seen->shared_memory_bytes, (unsigned long)(uintptr_t)seen->stream, cluster);
  if (status != 0 || on_launch == NULL) return status;
  seen->kernel = kernel->name;
  seen->device = kernel->image->context->number;
  on_launch(seen, on_launch_data);
  return 0;
}

int cuLaunchKernel(Kernel* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned shared_memory_bytes, void* stream, void** params, void** extra) {
  FakeLaunch seen = {NULL,
                     0,
                     {grid_x, grid_y, grid_z},
                     {block_x, block_y, block_z},
                     {0, 0, 0},
                     shared_memory_bytes,
                     stream,
                     params,
                     0,
                     0};
  return extra != NULL ? 1 : launch("cuLaunchKernel", kernel, &seen);
}

typedef struct LaunchAttribute {
  unsigned id, padding;
  union {
    unsigned cluster[3];
    int flag;
    char bytes[64];
  } value;
} LaunchAttribute;

typedef struct LaunchConfig {
  unsigned grid[3], block[3], shared_memory_bytes;
  void* stream;
  const LaunchAttribute* attributes;
  unsigned num_attributes;
} LaunchConfig;

int cuLaunchKernelEx(const LaunchConfig* config, Kernel* kernel, void** params, void** extra) {
  FakeLaunch seen = {NULL,           0,      {0}, {0}, {0}, config->shared_memory_bytes,
                     config->stream, params, 0,   0};
  memcpy(seen.grid, config->grid, sizeof(seen.grid));
  memcpy(seen.block, config->block, sizeof(seen.block));
  if (config->num_attributes == 0 || extra != NULL) return 1;
  for (unsigned i = 0; i < config->num_attributes; ++i) {
    const LaunchAttribute* attribute = &config->attributes[i];
    if (attribute->id == 4) {
      memcpy(seen.cluster, attribute->value.cluster, sizeof(seen.cluster));
    } else if (attribute->id == 2) {
      seen.is_cooperative = attribute->value.flag;
    } else if (attribute->id == 6) {
      seen.is_programmatic = attribute->value.flag;
    } else {
      return 1;
    }
  }
  return launch("cuLaunchKernelEx", kernel, &seen);
}
