// SPDX-License-Identifier: Apache-2.0
#include "cuda/signature.h"

#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/string_escape_detail.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tvm::ffi::extra::cuda {
namespace {

// A name in a kernel's signature for one or more consecutive launch fields (extents of the grid,
// block and cluster, and size of the shared memory).  The names such as "blockIdx.x" and
// "threadIdx.x" are from TVM's code generators.
struct LaunchFieldName {
  std::string_view name;
  uint8_t first;
  uint8_t count;
};
constexpr LaunchFieldName kLaunchFieldNames[] = {
    {"gridDim", kGrid, 3},
    {"gridDim.x", kGrid, 1},
    {"gridDim.y", kGrid + 1, 1},
    {"gridDim.z", kGrid + 2, 1},
    {"blockDim", kBlock, 3},
    {"blockDim.x", kBlock, 1},
    {"blockDim.y", kBlock + 1, 1},
    {"blockDim.z", kBlock + 2, 1},
    {"clusterDim", kCluster, 3},
    {"clusterDim.x", kCluster, 1},
    {"clusterDim.y", kCluster + 1, 1},
    {"clusterDim.z", kCluster + 2, 1},
    {"dynamicSharedMemory", kSharedMemory, 1},
    {"blockIdx.x", kGrid, 1},
    {"blockIdx.y", kGrid + 1, 1},
    {"blockIdx.z", kGrid + 2, 1},
    {"threadIdx.x", kBlock, 1},
    {"threadIdx.y", kBlock + 1, 1},
    {"threadIdx.z", kBlock + 2, 1},
    {"tir.use_dyn_shared_memory", kSharedMemory, 1},
};

// The driver accepts at most 32 KiB of kernel parameters, which is 4096 parameters of 8 bytes.
constexpr size_t kMaxParameters = 4096;

[[noreturn]] void Fail(const SavedKernel& kernel, const std::string& reason) {
  TVM_FFI_THROW(ValueError) << "CUDA kernel `" << kernel.name << "`: " << reason;
  TVM_FFI_UNREACHABLE();
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool TakeSuffix(std::string_view* text, std::string_view suffix) {
  if (text->size() < suffix.size()) return false;
  if (text->substr(text->size() - suffix.size()) != suffix) return false;
  *text = Trim(text->substr(0, text->size() - suffix.size()));
  return true;
}

std::optional<DLDataType> DtypeOf(std::string_view name) {
  TVMFFIByteArray bytes{name.data(), name.size()};
  DLDataType dtype;
  if (name.empty()) return std::nullopt;
  if (TVMFFIDataTypeFromString(&bytes, &dtype) == 0) return dtype;
  // Discard the pending error, because the caller reports an error with more detail.
  ffi::detail::MoveFromSafeCallRaised();
  return std::nullopt;
}

bool ReadPointer(std::string_view type, Parameter* parameter) {
  parameter->kind = ParameterKind::kPointer;
  parameter->is_compact = TakeSuffix(&type, "[]");
  if (!parameter->is_compact && !TakeSuffix(&type, "*")) return false;
  if (type == "void") return true;
  parameter->dtype = DtypeOf(type);
  return parameter->dtype.has_value();
}

bool ReadScalar(std::string_view type, Parameter* parameter) {
  std::optional<DLDataType> dtype = DtypeOf(type);
  if (!dtype.has_value() || dtype->lanes != 1) return false;
  uint8_t bits = parameter->bits = dtype->bits;
  bool has_bytes = bits == 8 || bits == 16 || bits == 32 || bits == 64;
  switch (dtype->code) {
    case kDLInt:
      parameter->kind = ParameterKind::kSigned;
      return has_bytes;
    case kDLUInt:
      parameter->kind = ParameterKind::kUnsigned;
      return has_bytes;
    case kDLBool:
      parameter->kind = ParameterKind::kBool;
      return true;
    case kDLFloat:
      parameter->kind = bits == 32 ? ParameterKind::kFloat32 : ParameterKind::kFloat64;
      return bits == 32 || bits == 64;
    default:
      return false;
  }
}

Parameter ReadParameter(const SavedKernel& kernel, std::string_view text) {
  Parameter parameter{};
  size_t colon = text.find(':');
  if (colon != std::string_view::npos) parameter.name = Trim(text.substr(0, colon));
  std::string_view type = Trim(colon == std::string_view::npos ? text : text.substr(colon + 1));
  parameter.type = type;
  if (ReadPointer(type, &parameter) || ReadScalar(type, &parameter)) return parameter;
  Fail(kernel, "parameter `" + std::string(text) +
                   "` has no known type; expected `DTYPE*` or `DTYPE[]` (compact) for tensors, "
                   "`void*`, int8 to int64, uint8 to uint64, bool, float32 or float64");
}

const LaunchFieldName& FindLaunchField(const SavedKernel& kernel, std::string_view name) {
  for (const LaunchFieldName& known : kLaunchFieldNames) {
    if (known.name == name) return known;
  }
  Fail(kernel, "`" + std::string(name) +
                   "` is not a launch field; expected gridDim, blockDim or clusterDim, each also "
                   "with .x, .y or .z, or dynamicSharedMemory");
}

// The launch fields that are set by the strings of a kernel.  Setting a field twice is an error.
class LaunchFields {
 public:
  explicit LaunchFields(const SavedKernel& kernel) : kernel_(kernel) {}

  void Claim(const LaunchFieldName& claimed) {
    for (size_t field = claimed.first; field < size_t{claimed.first} + claimed.count; ++field) {
      if (is_set_[field]) {
        Fail(kernel_,
             "`" + std::string(claimed.name) + "` sets a launch field that is already set");
      }
      is_set_[field] = true;
    }
  }
  bool HasCluster() const {
    return is_set_[kCluster] || is_set_[kCluster + 1] || is_set_[kCluster + 2];
  }

 private:
  const SavedKernel& kernel_;
  std::array<bool, kNumLaunchFields> is_set_{};
};

void ReadFixed(const SavedKernel& kernel, LaunchFields* fields, LaunchValues* values) {
  for (const auto& [name, value] : kernel.fixed) {
    const LaunchFieldName& field = FindLaunchField(kernel, name);
    fields->Claim(field);
    uint64_t least = field.first == kSharedMemory ? 0 : 1;
    if (value < least || value > 0x7fffffff) {
      Fail(kernel, "`" + name + "` must be from " + std::to_string(least) + " to 2147483647, got " +
                       std::to_string(value));
    }
    (*values)[field.first] = static_cast<uint32_t>(value);
  }
}

void CheckNames(const SavedKernel& kernel) {
  for (const std::string* name : {&kernel.name, &kernel.symbol}) {
    if (name->empty() || name->find('\0') != std::string::npos) {
      Fail(kernel, "expected names of kernel and symbol without NUL bytes");
    }
  }
  if (kernel.parameters.size() > kMaxParameters) {
    Fail(kernel, "expected at most " + std::to_string(kMaxParameters) + " parameters, got " +
                     std::to_string(kernel.parameters.size()));
  }
}

template <typename Show>
std::string Join(const Signature& signature, Show show) {
  std::string text = signature.kernel.name + "(";
  const char* separator = "";
  for (const Parameter& parameter : signature.parameters) {
    text += separator + show(parameter);
    separator = ", ";
  }
  for (const LaunchParameter& parameter : signature.launch) {
    text += separator + parameter.name;
    separator = ", ";
  }
  return text + ")";
}

const char* SchemaOf(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kPointer:
      return R"({"type":"Variant","args":[{"type":"DLTensor*"},{"type":"void*"},{"type":"None"}]})";
    case ParameterKind::kBool:
      return R"({"type":"bool"})";
    case ParameterKind::kFloat32:
    case ParameterKind::kFloat64:
      return R"({"type":"float"})";
    default:
      return R"({"type":"int"})";
  }
}

const char* SignatureTypeOf(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kPointer:
      return "unknown ctypes.c_void_p | Tensor | None";
    case ParameterKind::kBool:
      return "bool";
    case ParameterKind::kFloat32:
    case ParameterKind::kFloat64:
      return "float";
    default:
      return "int";
  }
}

// Python keywords, which cannot be parameter names.
constexpr std::string_view kReserved[] = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

bool IsName(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (char c : text) {
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!is_letter && !(c >= '0' && c <= '9')) return false;
  }
  return std::find(std::begin(kReserved), std::end(kReserved), text) == std::end(kReserved);
}

const char* SchemaOf(const LaunchParameter& parameter) {
  if (parameter.count == 1) return R"({"type":"int"})";
  return R"({"type":"Variant","args":[{"type":"int"},{"type":"ffi.Array","args":[{"type":"int"}]}]})";
}

// Returns the signature as text for the metadata, which enables keyword arguments.  Returns ""
// unless all parameters have distinct names.  The name "gridDim.x" becomes gridDim_x.
std::string SignatureText(const Signature& signature) {
  std::vector<std::string> names, listed;
  for (const Parameter& parameter : signature.parameters) {
    names.push_back(parameter.name);
    listed.push_back(parameter.name + ": " + SignatureTypeOf(parameter.kind));
  }
  for (const LaunchParameter& parameter : signature.launch) {
    std::string name = parameter.name;
    std::replace(name.begin(), name.end(), '.', '_');
    names.push_back(name);
    listed.push_back(name + (parameter.count == 1 ? ": int" : ": int | Array[int]"));
  }
  std::string text = signature.kernel.name + "(";
  for (const std::string& parameter : listed) {
    text += (&parameter == listed.data() ? "" : ", ") + parameter;
  }
  std::sort(names.begin(), names.end());
  bool is_named = IsName(signature.kernel.name) &&
                  std::all_of(names.begin(), names.end(), IsName) &&
                  std::adjacent_find(names.begin(), names.end()) == names.end();
  return is_named ? text + ")" : "";
}

}  // namespace

std::string Signature::Metadata() const {
  std::string schema =
      R"({"type":"ffi.Function","named_args":{"return":[{"type":"None"}],"params":[)";
  const char* separator = "";
  for (const Parameter& parameter : parameters) {
    schema += std::string(separator) + SchemaOf(parameter.kind);
    separator = ",";
  }
  for (const LaunchParameter& parameter : launch) {
    schema += std::string(separator) + SchemaOf(parameter);
    separator = ",";
  }
  std::string metadata = "{\"type_schema\":";
  ffi::detail::AppendEscapedJSON(schema + "]}}", &metadata);
  std::string signature = SignatureText(*this);
  if (!signature.empty()) {
    metadata += ",\"signature\":";
    ffi::detail::AppendEscapedJSON(signature, &metadata);
    metadata += ",\"checked\":true";
  }
  return metadata + "}";
}

std::string Signature::Call() const {
  return Join(*this, [](const Parameter& p) { return p.name.empty() ? p.type : p.name; });
}

std::string Signature::Documentation() const {
  return Join(*this,
              [](const Parameter& p) { return p.name.empty() ? p.type : p.name + ": " + p.type; });
}

Signature ReadSignature(SavedKernel kernel) {
  CheckNames(kernel);
  Signature signature;
  signature.fixed = {1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
  for (const std::string& parameter : kernel.parameters) {
    signature.parameters.push_back(ReadParameter(kernel, parameter));
  }
  LaunchFields fields(kernel);
  for (const std::string& name : kernel.launch) {
    const LaunchFieldName& known = FindLaunchField(kernel, name);
    fields.Claim(known);
    signature.launch.push_back({name, known.first, known.count});
  }
  ReadFixed(kernel, &fields, &signature.fixed);
  signature.has_cluster = fields.HasCluster();
  signature.kernel = std::move(kernel);
  return signature;
}

}  // namespace tvm::ffi::extra::cuda
