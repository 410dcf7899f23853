// SPDX-License-Identifier: Apache-2.0
// Interface to the operating system.  Everything that depends on a system, an object-file format or
// the C++ library's exception handling is in this folder; cmake/Platform.cmake selects the files.
//
// A source file is named after the systems or the format that it supports:
//     posix_*    Linux, macOS and other POSIX systems
//     linux_*, darwin_*, windows_*, wasm_*
//     elf_*, macho_*, pe_*    libraries in ELF, Mach-O and PE files
//     itanium_*  the Itanium C++ ABI, which all supported compilers implement
// Where a system lacks a facility, a function returns the value that its comment calls "not
// available", and the caller goes on without the facility.
#ifndef TVM_FFI_RUNTIME_PLATFORM_PLATFORM_H_
#define TVM_FFI_RUNTIME_PLATFORM_PLATFORM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tvm::ffi::platform {

// ---- Memory -----------------------------------------------------------------------------------

// Returns memory for FreeAligned, or null if there is none.  The alignment is a power of two and at
// least the size of a pointer.
void* AllocateAligned(size_t size, size_t alignment) noexcept;
void FreeAligned(void* memory) noexcept;

// Copies the writable private memory of this process, block by block, and calls
// visit(address of the block, copy, number of words, data).  Memory that other threads change may
// be copied before or after the change.  The memory of the copy is left out.  Returns false if the
// system does not list the memory, or if it is larger than `max_bytes`.
using VisitMemory = void (*)(uintptr_t address, const uintptr_t* words, size_t count, void* data);
bool VisitWritableMemory(size_t max_bytes, VisitMemory visit, void* data);

// The size of a page, the unit of SetAccess; 0 if pages cannot be protected.
size_t PageSize() noexcept;
enum class PageAccess { kNone, kRead, kReadAndWrite };
// Sets the access to whole pages of memory; returns false if the system cannot.
bool SetAccess(uintptr_t page, size_t size, PageAccess access) noexcept;

// Called when a thread has accessed memory that it must not access.  Returns true if the access can
// be repeated.  Runs in a signal handler.
using AccessHandler = bool (*)(uintptr_t address) noexcept;
// Calls `handler` before the handler that the process has set; null puts that one back.  Returns
// false if it is not available.  One thread at a time may call this function.
bool HandleInvalidAccess(AccessHandler handler) noexcept;
// Returns false if the process has set another handler since.
bool HandlesInvalidAccess() noexcept;

// ---- Threads ----------------------------------------------------------------------------------

// The addresses of a stack, which grows downwards from `high`.
struct StackRange {
  uintptr_t low;
  uintptr_t high;
};

// Returns the stack of the calling thread; {0, 0} if it is not available.
StackRange StackOfThread() noexcept;

// Runs a full memory barrier on every running thread of the process.  Does nothing if the system
// has no such barrier.
void BarrierOnAllThreads() noexcept;

// ---- Files ------------------------------------------------------------------------------------
// A path is UTF-8 on Windows and any bytes without NUL on other systems.

enum class FileKind {
  kMissing,
  kFolder,
  kFile,     // a file, device or pipe
  kUnknown,  // the system does not say
};

struct FileStatus {
  FileKind kind = FileKind::kUnknown;
  // The volume and the number of the file on the volume.  While a file is open or mapped, no other
  // file has the same two numbers.
  uint64_t volume = 0;
  uint64_t number = 0;
  // The time of the last change of the content, in a unit of the system; 0 if it is unknown.
  uint64_t modified = 0;
};

FileStatus StatusOfFile(const std::string& path);

// Returns the position of the file name in a path: 0 if the path has no folder.
size_t FileNameIn(std::string_view path) noexcept;

// Opens a file for reading, without waiting for a writer if it is a pipe.  Returns -1 if the file
// cannot be opened.  Stores the size of a regular file, and 0 for everything else.
intptr_t OpenFile(const std::string& path, size_t* size);
void CloseFile(intptr_t file) noexcept;
// Copies bytes of the file to `out` and returns their number, which is less than `size` at the end
// of the file and after a failure.  Stores the system's error code of a failure in *error.
size_t ReadFile(intptr_t file, size_t offset, void* out, size_t size, int* error) noexcept;

// Creates a file for ExtendMapped and returns it for CloseFile.  A file at the path is emptied, or
// is an error unless `replaces`.  Returns -1 and the system's error code in *error on failure.
intptr_t CreateNewFile(const std::string& path, bool replaces, int* error);
// Appends `size` zero bytes to the file, which has `offset` bytes, and maps them.  The disk space
// is reserved, so that writes to the memory do not fail.  Both numbers are multiples of 64 KiB.
// Returns null and the system's error code in *error on failure.
void* ExtendMapped(intptr_t file, size_t offset, size_t size, int* error);
// Writes bytes at an offset; returns false and the system's error code in *error on failure.
bool WriteFile(intptr_t file, size_t offset, const void* bytes, size_t size, int* error) noexcept;
void UnmapFile(void* memory, size_t size) noexcept;

// ---- Numbers ----------------------------------------------------------------------------------
// Neither function depends on the locale.

// Converts a JSON number to the nearest double.  Returns false if the number is outside the range
// of double; *value is then undefined.
bool ParseDouble(std::string_view text, double* value);
// Writes a number as printf's "%.*g" does in the C locale, without NUL, and returns the number
// of characters, at most 32.  `digits` is at most 17.
size_t PrintDouble(double value, int digits, char* out) noexcept;

// ---- Processes --------------------------------------------------------------------------------

int64_t ProcessNumber() noexcept;
// Calls `callback` in each process that this process forks.
void CallInForkedChild(void (*callback)());
// Calls `lock` before each fork of this process, then `unlock` in this process and
// `unlock_in_child` in the child, so that locks which other threads acquire are free in the child.
void LockDuringForks(void (*lock)(), void (*unlock)(), void (*unlock_in_child)());

// ---- Code addresses ---------------------------------------------------------------------------

// Returns the start of the library or program that contains the address; null if it is not
// available.
const void* LibraryStartAt(const void* address) noexcept;

struct AddressDescription {
  std::string library;  // path of the library; "" if it is not available
  std::string symbol;   // the mangled name of the exported function; "" if it is not available
};
AddressDescription DescribeAddress(const void* address);

// Returns the text that the compiler mangled to `symbol`, or `symbol` itself if it is not mangled.
std::string Demangle(const char* symbol);

// Calls visit(address, data) for the return address of each frame of the stack, from the caller of
// WalkStack on, until it returns false.  Visits nothing if stack walks are not available.
void WalkStack(bool (*visit)(uintptr_t address, void* data) noexcept, void* data) noexcept;

// ---- Loaded libraries -------------------------------------------------------------------------

// Returns the start address of the library whose initialisers the system's loader is running on
// this thread; null if the loader is not running initialisers or if it is not available.  Slow:
// walks the stack.  Do not hold a lock during the call, which may wait for the loader's lock.
const void* LibraryBeingInitialised() noexcept;

// Looks for a copy of the runtime other than this one.  Examines the libraries that were loaded
// since the last call, up to the first copy.  Returns false if none is found; otherwise stores the
// path of the copy, cut to the size of the buffer and ending with NUL.
bool FindOtherRuntime(char* path, size_t size) noexcept;

// Returns the bytes of a symbol.  Their number is the size of the symbol in the symbol table; if
// the symbol has no size, the bytes end with the segment of the symbol.  If the segment is not
// available, the view ends at the end of the address space.
std::string_view SymbolBytes(const void* address, const char* symbol);

// ---- Loading of libraries ---------------------------------------------------------------------
// A program that calls none of these functions needs no dynamic loader.

// Why the loader did not open a library.
struct LoadFailure {
  std::string message;           // the loader's message
  std::string missing_symbol;    // the undefined symbol that the message names; "" if there is none
  std::string library;           // path of the library that needs missing_symbol
  bool is_missing_file = false;  // true if the message says that the file itself does not exist
};

enum class Binding {
  kNow,   // all symbols are bound before the initialisers run
  kLazy,  // functions are bound when they are first called, where the system can
};

// Opens a library and returns its handle; null and *failure if the loader rejects it.  A name
// without a folder is searched in the loader's path.
void* OpenLibrary(const std::string& path, Binding binding, LoadFailure* failure);
// Returns the handle of a library that is already loaded, by its name without prefix and suffix;
// null if it is not loaded.
void* FindLoadedLibrary(const char* name);
// Returns the address of a symbol in a library or in the libraries that it links to, or null.
void* FindSymbol(void* library, const char* symbol);
// Returns the address of a symbol that every library of the process can use, or null.
void* FindSymbolInProcess(const char* symbol);
// Returns true if the library itself defines the address, or if it is not available which library
// does.
bool DefinesAddress(void* library, const void* address);
// Returns the names of the functions that the library itself exports, in no particular order.  They
// are read from mapped memory, so the file may have been replaced or removed.  Returns an empty
// result if the symbol table is not available.
std::vector<std::string> ExportedFunctions(void* library);

struct LibraryCheck {
  // Symbols that the library needs and that nothing in the process defines.  Another library that
  // the checked library links to may define these symbols.
  std::vector<std::string> missing_symbols;
  // One sentence that describes why the file cannot be loaded; "" if the file is not damaged.
  std::string defect;
};

// Checks a library file before the loader maps it and runs its initialisers: damage, another
// machine and, in ELF files, undefined symbols.  The result is empty if the file cannot be opened
// or has another format than the system's libraries, because the loader reports these cases itself.
// docs/design/load-time-check.md
LibraryCheck CheckLibraryFile(const std::string& path);

// The file name of the CUDA driver's library, for OpenLibrary.
extern const char* const kCudaDriver;
// The file name of the library of NVTX, for OpenLibrary.
extern const char* const kNvtx;

}  // namespace tvm::ffi::platform

#endif  // TVM_FFI_RUNTIME_PLATFORM_PLATFORM_H_
