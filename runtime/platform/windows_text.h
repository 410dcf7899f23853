// SPDX-License-Identifier: Apache-2.0
// The header of the Windows API, and conversions between UTF-8 and the UTF-16 of Windows.
#ifndef TVM_FFI_RUNTIME_PLATFORM_WINDOWS_TEXT_H_
#define TVM_FFI_RUNTIME_PLATFORM_WINDOWS_TEXT_H_

#ifndef NOMINMAX  // some C++ libraries define it
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
// Windows 8, the first version with GetCurrentThreadStackLimits.
#undef _WIN32_WINNT
#define _WIN32_WINNT 0x0602
#include <windows.h>

#include <string>
#include <string_view>

namespace tvm::ffi::platform {

std::wstring ToWide(std::string_view text);
std::string ToUtf8(std::wstring_view text);
// Returns the path of a library, or of the program if `library` is null; "" if it is not available.
std::string PathOfLibrary(HMODULE library);
// Returns the library that contains the address, or null.
HMODULE LibraryAt(const void* address) noexcept;

}  // namespace tvm::ffi::platform

#endif  // TVM_FFI_RUNTIME_PLATFORM_WINDOWS_TEXT_H_
