// SPDX-License-Identifier: Apache-2.0
// MessageStream: the stream of the throw and check macros.
//
// MessageStream formats like a std::ostream but does not need one for numbers, strings, pointers
// and enums.  For manipulators and for other types X with an operator<<(std::ostream&, X), it
// creates a std::ostream that writes to the same message.  An operator that only the throwing code
// can see is applied to MessageStream by conversion to that std::ostream; Under() then returns the
// MessageStream of the std::ostream.  The conversion is a template, so only files that stream such
// a value must include <ostream>.
#ifndef TVM_FFI_MESSAGE_DETAIL_H_
#define TVM_FFI_MESSAGE_DETAIL_H_

#include <tvm/ffi/base_detail.h>

#include <cstdarg>
#include <iosfwd>
#include <string>
#include <string_view>

namespace tvm {
namespace ffi {
namespace detail {

// Function table of a std::ostream that writes to a message.  After a MessageStream has created
// this std::ostream, the std::ostream also formats numbers, because a manipulator may have changed
// the number format.
struct MessageOstream {
  void (*destroy)(MessageOstream* self);
  void (*put_bool)(MessageOstream* self, bool value);
  // `size_bytes` is the size of the value's type, which determines the hexadecimal or octal form of
  // a negative value.
  void (*put_int)(MessageOstream* self, long long value, size_t size_bytes);
  void (*put_uint)(MessageOstream* self, unsigned long long value);
  void (*put_float)(MessageOstream* self, double value);
  void (*put_text)(MessageOstream* self, const char* data, size_t size);
};

class TVM_FFI_HIDDEN_ MessageStream {
 private:
  // True if argument-dependent lookup finds an operator<< for T.  Members of std::ostream do not
  // count, because they accept every enum with implicit conversion to int.
  template <typename T>
  static constexpr auto HasOwnOperator(int)
      -> decltype(operator<<(std::declval<std::ostream&>(), std::declval<const T&>()), bool()) {
    return true;
  }
  template <typename T>
  static constexpr bool HasOwnOperator(...) {
    return false;
  }
  template <typename T>
  static constexpr auto HasOperator(int)
      -> decltype(std::declval<std::ostream&>() << std::declval<const T&>(), bool()) {
    return true;
  }
  template <typename T>
  static constexpr bool HasOperator(...) {
    return false;
  }
  // Returns true if a T can be streamed.  Common types are tested first, because overload
  // resolution of operator<< costs compile time.
  template <typename T>
  static constexpr bool Prints() {
    if constexpr (std::is_scalar_v<T> || std::is_array_v<T> || std::is_same_v<T, std::string>) {
      return true;
    } else {
      return HasOperator<T>(0);
    }
  }

 public:
  MessageStream() = default;
  // Moves only the text of the message; manipulators do not apply to the new stream.
  MessageStream(MessageStream&& other) noexcept
      : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.data_ = nullptr;
  }
  MessageStream& operator=(MessageStream&&) = delete;
  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE ~MessageStream() {
    if (ostream_ != nullptr) ostream_->destroy(ostream_);
    std::free(data_);
  }

  // Appends text that is formatted like printf; stream manipulators have no effect on the text.
  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE TVM_FFI_PRINTF_(2, 3) void Print(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    PrintList(format, arguments);
    va_end(arguments);
  }
  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE TVM_FFI_PRINTF_(2, 0) void PrintList(const char* format,
                                                                           va_list arguments) {
    va_list copy;
    va_copy(copy, arguments);
    size_t size = PrintedSize(std::vsnprintf(nullptr, 0, format, copy));
    va_end(copy);
    Reserve(size + 1);
    std::vsnprintf(data_ + size_, size + 1, format, arguments);
    size_ += size;
  }

  std::string_view view() const { return std::string_view(data_, size_); }
  std::string str() const { return std::string(view()); }
  // Returns *this as an lvalue.  The throw macros create a temporary, to which free operators <<
  // could not bind.
  MessageStream& stream() { return *this; }
  // Converts to a std::ostream that writes to the same message.
  template <typename Ostream, typename = std::enable_if_t<std::is_same_v<Ostream, std::ostream>>>
  operator Ostream&() {  // NOLINT(*)
    return RequireOstream<Ostream>();
  }
  // Returns the MessageStream to which `out` writes, or nullptr if `out` is another stream.
  template <typename Ostream>
  static const MessageStream* Under(Ostream& out) {
    using Standard = std::enable_if_t<sizeof(Ostream) != 0, std::ostream>;
    using Buffer = typename OstreamOverText<Standard>::TextBuffer;
#if defined(__GXX_RTTI) || defined(_CPPRTTI)
    auto* buffer = dynamic_cast<Buffer*>(out.rdbuf());
#else
    auto* buffer = static_cast<Buffer*>(out.rdbuf());
#endif
    return buffer != nullptr ? buffer->message : nullptr;
  }
  // Appends text; stream manipulators have no effect on the text.
  MessageStream& write(const char* data, std::ptrdiff_t size) {
    return Append(data, static_cast<size_t>(size));
  }
  MessageStream& put(char value) { return Append(&value, 1); }
  MessageStream& flush() { return *this; }

  MessageStream& operator<<(const char* text) {
    return text != nullptr ? PutText(text, std::strlen(text)) : PutText("(null)", 6);
  }
  MessageStream& operator<<(const std::string& text) { return PutText(text.data(), text.size()); }
  MessageStream& operator<<(std::string_view text) { return PutText(text.data(), text.size()); }
  MessageStream& operator<<(char value) { return PutText(&value, 1); }
  MessageStream& operator<<(signed char value) { return *this << static_cast<char>(value); }
  MessageStream& operator<<(unsigned char value) { return *this << static_cast<char>(value); }
  MessageStream& operator<<(bool value) {
    if (ostream_ == nullptr) return PutText(value ? "1" : "0", 1);
    ostream_->put_bool(ostream_, value);
    return *this;
  }
  MessageStream& operator<<(short value) { return PutInt(value, sizeof(value)); }  // NOLINT(*)
  MessageStream& operator<<(unsigned short value) { return PutUint(value); }       // NOLINT(*)
  MessageStream& operator<<(int value) { return PutInt(value, sizeof(value)); }
  MessageStream& operator<<(unsigned value) { return PutUint(value); }
  MessageStream& operator<<(long value) { return PutInt(value, sizeof(value)); }       // NOLINT(*)
  MessageStream& operator<<(unsigned long value) { return PutUint(value); }            // NOLINT(*)
  MessageStream& operator<<(long long value) { return PutInt(value, sizeof(value)); }  // NOLINT
  MessageStream& operator<<(unsigned long long value) { return PutUint(value); }       // NOLINT(*)
  MessageStream& operator<<(float value) { return PutFloat(static_cast<double>(value)); }
  MessageStream& operator<<(double value) { return PutFloat(value); }
  MessageStream& operator<<(long double value) { return PutFloat(static_cast<double>(value)); }
  MessageStream& operator<<(const void* value) { return PutPointer(value); }
  MessageStream& operator<<(std::nullptr_t) { return PutText("nullptr", 7); }

  // Manipulators such as std::endl and std::hex.
  template <typename Ostream = std::ostream>
  MessageStream& operator<<(std::ostream& (*manipulator)(std::ostream&)) {
    manipulator(RequireOstream<Ostream>());
    return *this;
  }
  template <typename Ostream = std::ostream>
  MessageStream& operator<<(std::ios_base& (*manipulator)(std::ios_base&)) {
    manipulator(RequireOstream<Ostream>());
    return *this;
  }
  // Streams all other types with an operator<< that is visible here.  Other operators << use the
  // conversion to std::ostream above.
  template <typename T, typename = std::enable_if_t<Prints<T>()>>
  MessageStream& operator<<(const T& value) {
    if constexpr (std::is_convertible_v<const T&, const char*> && std::is_pointer_v<T>) {
      return *this << static_cast<const char*>(value);
    } else if constexpr (std::is_function_v<std::remove_pointer_t<T>>) {
      return *this << true;
    } else if constexpr (std::is_pointer_v<T> && !HasOwnOperator<T>(0) &&
                         !std::is_convertible_v<T, std::streambuf*>) {
      return PutPointer(const_cast<const void*>(static_cast<const volatile void*>(value)));
    } else if constexpr (std::is_enum_v<T> && std::is_convertible_v<T, long long> &&
                         !HasOwnOperator<T>(0)) {
      return *this << static_cast<std::underlying_type_t<T>>(value);
    } else {
      RequireOstream<std::enable_if_t<sizeof(T) != 0, std::ostream>>() << value;
      return *this;
    }
  }

 private:
  template <typename Ostream>
  struct OstreamOverText;
  template <typename Ostream>
  Ostream& RequireOstream() {
    if (ostream_ == nullptr) ostream_ = new OstreamOverText<Ostream>(this);
    return static_cast<OstreamOverText<Ostream>*>(ostream_)->stream;
  }

  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE MessageStream& PutText(const char* data, size_t size) {
    if (ostream_ != nullptr) {
      ostream_->put_text(ostream_, data, size);
      return *this;
    }
    return Append(data, size);
  }
  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE MessageStream& PutInt(long long value,  // NOLINT
                                                            size_t size_bytes) {
    if (ostream_ != nullptr) {
      ostream_->put_int(ostream_, value, size_bytes);
      return *this;
    }
    char digits[24];
    return Append(digits, PrintedSize(std::snprintf(digits, sizeof(digits), "%lld", value)));
  }
  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE MessageStream& PutUint(
      unsigned long long value) {  // NOLINT(*)
    if (ostream_ != nullptr) {
      ostream_->put_uint(ostream_, value);
      return *this;
    }
    char digits[24];
    return Append(digits, PrintedSize(std::snprintf(digits, sizeof(digits), "%llu", value)));
  }
  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE MessageStream& PutFloat(double value) {
    if (ostream_ != nullptr) {
      ostream_->put_float(ostream_, value);
      return *this;
    }
    char digits[32];
    return Append(digits, PrintedSize(std::snprintf(digits, sizeof(digits), "%g", value)));
  }
  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE MessageStream& PutPointer(const void* value) {
    char digits[24];
    if (value == nullptr) return PutText("0", 1);
    int size = std::snprintf(digits, sizeof(digits), "0x%llx",
                             static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(value)));
    return PutText(digits, PrintedSize(size));
  }
  static size_t PrintedSize(int size) { return static_cast<size_t>(size); }
  MessageStream& Append(const char* data, size_t size) {
    Reserve(size);
    if (size > 0) std::memcpy(data_ + size_, data, size);
    size_ += size;
    return *this;
  }
  TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE void Reserve(size_t size) {
    if (capacity_ - size_ >= size) return;
    size_t capacity = 2 * (size_ + size) + 64;
    char* grown = static_cast<char*>(std::realloc(data_, capacity));
    if (grown == nullptr) throw std::bad_alloc();
    data_ = grown;
    capacity_ = capacity;
  }

  // The buffer is memory from malloc, because the code of std::string would be compiled into every
  // file with a failure path.
  char* data_{nullptr};
  size_t size_{0};
  size_t capacity_{0};
  MessageOstream* ostream_{nullptr};
};

// A std::ostream that writes to a MessageStream.  All types depend on the template parameter, so
// that std::ostream may be incomplete until the first use.
template <typename Ostream>
struct MessageStream::OstreamOverText : MessageOstream {
  using Streambuf =
      std::basic_streambuf<typename Ostream::char_type, typename Ostream::traits_type>;

  struct TextBuffer : Streambuf {
    explicit TextBuffer(MessageStream* out) : message(out) {}
    typename Streambuf::int_type overflow(typename Streambuf::int_type c) override {
      char text = static_cast<char>(c);
      if (c != Streambuf::traits_type::eof()) message->Append(&text, 1);
      return Streambuf::traits_type::not_eof(c);
    }
    // The type std::streamsize, computed because <iosfwd> need not declare it.
    using Size = decltype(std::declval<Ostream&>().width());
    Size xsputn(const char* data, Size size) override {
      message->Append(data, static_cast<size_t>(size));
      return size;
    }
    MessageStream* message;
  };

  explicit OstreamOverText(MessageStream* out) : buffer(out), stream(&buffer) {
    destroy = [](MessageOstream* self) { delete static_cast<OstreamOverText*>(self); };
    put_bool = [](MessageOstream* self, bool value) { Of(self) << value; };
    put_int = [](MessageOstream* self, long long value, size_t size_bytes) {  // NOLINT(*)
      if (size_bytes == sizeof(short)) {                                      // NOLINT(*)
        Of(self) << static_cast<short>(value);                                // NOLINT(*)
      } else if (size_bytes == sizeof(int)) {
        Of(self) << static_cast<int>(value);
      } else {
        Of(self) << value;
      }
    };
    put_uint = [](MessageOstream* self, unsigned long long value) { Of(self) << value; };  // NOLINT
    put_float = [](MessageOstream* self, double value) { Of(self) << value; };
    put_text = [](MessageOstream* self, const char* data, size_t size) {
      Of(self) << std::string_view(data, size);
    };
  }
  static Ostream& Of(MessageOstream* self) { return static_cast<OstreamOverText*>(self)->stream; }

  TextBuffer buffer;
  Ostream stream;
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_MESSAGE_DETAIL_H_
