/* SPDX-License-Identifier: Apache-2.0
 * Fault injection for memory: one chosen request of one thread fails; for LD_PRELOAD.
 *
 * Two kinds of requests are counted, one at a time: those to the C library, which also serves
 * operator new and Python's large blocks, and those to Python's allocators for objects and memory.
 * Reallocations that shrink always succeed, as in real allocators. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <stdint.h>
#include <unistd.h>

extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* block, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);

enum { kNative, kPython, kNumKinds };
enum { kNever = -1 };

/* The number of this thread's memory requests that succeed before one fails; kNever: all succeed.
 * */
static __thread long until_failure[kNumKinds] = {kNever, kNever};
static __thread int has_failed;
static __thread int shows_stack;

static int fails_now(int kind) {
  if (until_failure[kind] == kNever) return 0;
  if (until_failure[kind]-- > 0) return 0;
  until_failure[kind] = kNever;
  has_failed = 1;
  if (shows_stack) {
    void* frames[40];
    backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
  }
  return 1;
}

/* ---- functions for tests --------------------------------------------------------------------- */

/* The next `successes` requests of this kind succeed, and the request after them fails; `shows`
 * prints the stack of the failed request to stderr. */
void faults_arm(int kind, long successes, int shows) {
  void* frame;
  if (shows) backtrace(&frame, 1); /* backtrace() loads its library now, not during the failure */
  has_failed = 0;
  shows_stack = shows;
  until_failure[kind] = successes;
}

/* Returns 1 if a request has failed since the last call of faults_arm; all requests succeed from
 * now on. */
int faults_disarm(void) {
  until_failure[kNative] = until_failure[kPython] = kNever;
  return has_failed;
}

/* Returns the number of bytes allocated from the C library's heap. */
size_t faults_heap_bytes(void) {
  struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

/* ---- the C library --------------------------------------------------------------------------- */

static void* no_memory(void) {
  errno = ENOMEM;
  return NULL;
}

void* malloc(size_t size) { return fails_now(kNative) ? no_memory() : __libc_malloc(size); }

void* calloc(size_t count, size_t size) {
  return fails_now(kNative) ? no_memory() : __libc_calloc(count, size);
}

void* realloc(void* block, size_t size) {
  if (block == NULL || size > malloc_usable_size(block)) {
    if (fails_now(kNative)) return no_memory();
  }
  return __libc_realloc(block, size);
}

void* memalign(size_t alignment, size_t size) {
  return fails_now(kNative) ? no_memory() : __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** out, size_t alignment, size_t size) {
  void* block = memalign(alignment, size);
  if (block == NULL) return ENOMEM;
  *out = block;
  return 0;
}

/* ---- Python ---------------------------------------------------------------------------------- */

/* Declaration of PyMemAllocatorEx, and two of the allocator domains. */
typedef struct {
  void* context;
  void* (*malloc)(void* context, size_t size);
  void* (*calloc)(void* context, size_t count, size_t size);
  void* (*realloc)(void* context, void* block, size_t size);
  void (*free)(void* context, void* block);
} Allocator;

enum { kMem = 1, kObj = 2, kNumDomains = 3 };

static Allocator originals[kNumDomains];

static void* python_malloc(void* context, size_t size) {
  Allocator* original = context;
  return fails_now(kPython) ? NULL : original->malloc(original->context, size);
}

static void* python_calloc(void* context, size_t count, size_t size) {
  Allocator* original = context;
  return fails_now(kPython) ? NULL : original->calloc(original->context, count, size);
}

/* Python's memory blocks do not store their size, so reallocations that shrink a block are not
 * recognized and may fail as well. */
static void* python_realloc(void* context, void* block, size_t size) {
  Allocator* original = context;
  return fails_now(kPython) ? NULL : original->realloc(original->context, block, size);
}

static void python_free(void* context, void* block) {
  Allocator* original = context;
  original->free(original->context, block);
}

/* Counts Python's memory requests from now on; call it once per process. Returns -1 if the process
 * is not Python. */
int faults_watch_python(void) {
  typedef void (*Exchange)(int domain, Allocator* allocator);
  Exchange get = (Exchange)(uintptr_t)dlsym(RTLD_DEFAULT, "PyMem_GetAllocator");
  Exchange set = (Exchange)(uintptr_t)dlsym(RTLD_DEFAULT, "PyMem_SetAllocator");
  if (get == NULL || set == NULL) return -1;
  for (int domain = kMem; domain <= kObj; ++domain) {
    Allocator ours = {&originals[domain], python_malloc, python_calloc, python_realloc,
                      python_free};
    get(domain, &originals[domain]);
    set(domain, &ours);
  }
  return 0;
}
