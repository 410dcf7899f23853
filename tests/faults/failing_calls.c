/* SPDX-License-Identifier: Apache-2.0
 * Fault injection for system calls: one chosen call fails; for LD_PRELOAD.
 *
 * A test selects kinds of calls, which are counted together in all threads of the process; child
 * programs are not affected.  Calls of the dynamic loader itself do not pass through this library.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  kOpen = 1,   /* opening an existing file for reading */
  kCreate = 2, /* opening a file for writing */
  kRead = 4,   /* calls that open files and folders */
  kWrite = 8,
  kMap = 16,
  kChange = 32,     /* calls that change names, modes, sizes of files and folders */
  kDescribe = 64,   /* queries about a file: stat, access */
  kDescriptor = 128 /* calls that create descriptors without a file: pipes, copies */
};

enum { kNever = -1 };

static int refused_kinds;
static int refused_errno;
static long until_refusal = kNever;
static long piece; /* most bytes that one read or write transfers; 0: as many as requested */
static pid_t asking;
static char refused_call[256]; /* name of the failed call and the path in its arguments */

/* ---- functions for tests --------------------------------------------------------------------- */

/* The next `successes` calls of these kinds succeed, and the call after them fails with an errno.
 * */
void faults_refuse(int kinds, long successes, int error) {
  refused_kinds = kinds;
  refused_errno = error;
  refused_call[0] = '\0';
  asking = getpid();
  __atomic_store_n(&until_refusal, successes, __ATOMIC_SEQ_CST);
}

/* Returns the call that failed since fail_call, or an empty string; all calls succeed from now on.
 * */
const char* faults_allow(void) {
  __atomic_store_n(&until_refusal, kNever, __ATOMIC_SEQ_CST);
  return refused_call;
}

/* Limits each read and write to a few bytes, like a slow device; 0: no limit. */
void faults_move_pieces(long size) {
  asking = getpid();
  piece = size;
}

/* ---- failing calls --------------------------------------------------------------------------- */

static int is_refused(int kind, const char* name, const char* path) {
  if ((refused_kinds & kind) == 0) return 0;
  if (__atomic_load_n(&until_refusal, __ATOMIC_RELAXED) < 0 || getpid() != asking) return 0;
  if (path != NULL && (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0)) return 0;
  if (__atomic_fetch_sub(&until_refusal, 1, __ATOMIC_SEQ_CST) != 0) return 0;
  snprintf(refused_call, sizeof refused_call, "%s(%s)", name, path == NULL ? "" : path);
  errno = refused_errno;
  return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
/* Defines a function that replaces the C library's: it fails if its kind is selected, and otherwise
 * calls the original. */
#define REFUSABLE(kind, result, failure, name, parameters, arguments, path) \
  result name parameters {                                                  \
    static __typeof__(&name) next;                                          \
    if (next == NULL) next = NEXT(name);                                    \
    if (is_refused(kind, #name, path)) return failure;                      \
    return next arguments;                                                  \
  }

static int kind_of_opening(int flags) {
  return (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0 ? kCreate : kOpen;
}

static mode_t mode_in(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

#define DEFINE_OPEN(name)                                           \
  int name(const char* path, int flags, ...) {                      \
    static __typeof__(&name) next;                                  \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    mode_t mode = mode_in(flags, rest);                             \
    va_end(rest);                                                   \
    if (next == NULL) next = NEXT(name);                            \
    if (is_refused(kind_of_opening(flags), #name, path)) return -1; \
    return next(path, flags, mode);                                 \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(name)                                         \
  int name(int folder, const char* path, int flags, ...) {          \
    static __typeof__(&name) next;                                  \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    mode_t mode = mode_in(flags, rest);                             \
    va_end(rest);                                                   \
    if (next == NULL) next = NEXT(name);                            \
    if (is_refused(kind_of_opening(flags), #name, path)) return -1; \
    return next(folder, path, flags, mode);                         \
  }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

static int kind_of_mode(const char* mode) { return mode[0] == 'r' ? kOpen : kCreate; }

REFUSABLE(kind_of_mode(mode), FILE*, NULL, fopen, (const char* path, const char* mode),
          (path, mode), path)
REFUSABLE(kind_of_mode(mode), FILE*, NULL, fopen64, (const char* path, const char* mode),
          (path, mode), path)
REFUSABLE(kOpen, DIR*, NULL, opendir, (const char* path), (path), path)
REFUSABLE(kRead, struct dirent*, NULL, readdir, (DIR * folder), (folder), NULL)
REFUSABLE(kRead, struct dirent64*, NULL, readdir64, (DIR * folder), (folder), NULL)

static size_t at_most_a_piece(size_t size) {
  return piece > 0 && size > (size_t)piece && getpid() == asking ? (size_t)piece : size;
}

REFUSABLE(kRead, ssize_t, -1, read, (int file, void* to, size_t size),
          (file, to, at_most_a_piece(size)), NULL)
REFUSABLE(kRead, ssize_t, -1, pread, (int file, void* to, size_t size, off_t at),
          (file, to, at_most_a_piece(size), at), NULL)
REFUSABLE(kRead, ssize_t, -1, pread64, (int file, void* to, size_t size, off64_t at),
          (file, to, at_most_a_piece(size), at), NULL)
REFUSABLE(kWrite, ssize_t, -1, write, (int file, const void* from, size_t size),
          (file, from, at_most_a_piece(size)), NULL)
REFUSABLE(kWrite, ssize_t, -1, sendfile, (int to, int from, off_t* at, size_t size),
          (to, from, at, at_most_a_piece(size)), NULL)
REFUSABLE(kWrite, ssize_t, -1, sendfile64, (int to, int from, off64_t* at, size_t size),
          (to, from, at, at_most_a_piece(size)), NULL)
REFUSABLE(kMap, void*, MAP_FAILED, mmap,
          (void* at, size_t size, int access, int flags, int file, off_t offset),
          (at, size, access, flags, file, offset), NULL)
REFUSABLE(kMap, void*, MAP_FAILED, mmap64,
          (void* at, size_t size, int access, int flags, int file, off64_t offset),
          (at, size, access, flags, file, offset), NULL)

REFUSABLE(kChange, int, -1, rename, (const char* from, const char* to), (from, to), from)
REFUSABLE(kChange, int, -1, renameat, (int a, const char* from, int b, const char* to),
          (a, from, b, to), from)
REFUSABLE(kChange, int, -1, mkdir, (const char* path, mode_t mode), (path, mode), path)
REFUSABLE(kChange, int, -1, unlink, (const char* path), (path), path)
REFUSABLE(kChange, int, -1, rmdir, (const char* path), (path), path)
REFUSABLE(kChange, int, -1, unlinkat, (int folder, const char* path, int flags),
          (folder, path, flags), path)
REFUSABLE(kChange, int, -1, chmod, (const char* path, mode_t mode), (path, mode), path)
REFUSABLE(kChange, int, -1, fchmod, (int file, mode_t mode), (file, mode), NULL)
REFUSABLE(kChange, int, -1, ftruncate64, (int file, off64_t size), (file, size), NULL)
REFUSABLE(kChange, int, -1, fsync, (int file), (file), NULL)
REFUSABLE(kChange, int, -1, flock, (int file, int operation), (file, operation), NULL)

REFUSABLE(kDescribe, int, -1, stat, (const char* path, struct stat* out), (path, out), path)
REFUSABLE(kDescribe, int, -1, stat64, (const char* path, struct stat64* out), (path, out), path)
REFUSABLE(kDescribe, int, -1, lstat64, (const char* path, struct stat64* out), (path, out), path)
REFUSABLE(kDescribe, int, -1, fstat, (int file, struct stat* out), (file, out), NULL)
REFUSABLE(kDescribe, int, -1, fstat64, (int file, struct stat64* out), (file, out), NULL)
REFUSABLE(kDescribe, int, -1, fstatat64,
          (int folder, const char* path, struct stat64* out, int flags), (folder, path, out, flags),
          path)
REFUSABLE(kDescribe, int, -1, access, (const char* path, int mode), (path, mode), path)

REFUSABLE(kDescriptor, int, -1, pipe2, (int ends[2], int flags), (ends, flags), NULL)
REFUSABLE(kDescriptor, int, -1, dup, (int file), (file), NULL)
REFUSABLE(kDescriptor, pid_t, -1, fork, (void), (), NULL)
REFUSABLE(kDescriptor, pid_t, -1, waitpid, (pid_t child, int* status, int options),
          (child, status, options), NULL)
REFUSABLE(kDescriptor, int, -1, poll, (struct pollfd * files, nfds_t count, int timeout_ms),
          (files, count, timeout_ms), NULL)
