// SPDX-License-Identifier: Apache-2.0
#include "cuda/module_format.h"

#include <tvm/ffi/error.h>

#include <optional>

#include "module/byte_reader.h"

namespace tvm::ffi::extra::cuda {
namespace {

constexpr std::string_view kMagic = "TVMFFICU";
// Versions of the saved format: with one image only; with launch plans or several images.
constexpr uint32_t kOneImage = 1, kPlans = 2;

class Writer {
 public:
  void Number(uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
  }
  void Raw(std::string_view text) { bytes_ += text; }
  void Text(std::string_view text) {
    Number(text.size(), 8);
    Raw(text);
  }
  void Texts(const std::vector<std::string>& texts) {
    Number(texts.size(), 8);
    for (const std::string& text : texts) Text(text);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  uint64_t Number(size_t width, const char* field) {
    if (std::optional<uint64_t> value = bytes_.TakeNumber(width)) return *value;
    Fail(position(), std::string(field) + " truncated");
  }
  // Reads the number of the elements that follow.  Each element has at least `min_bytes` bytes.
  // Fails before memory for the elements is allocated if fewer bytes remain.
  size_t Count(size_t min_bytes, const char* elements) {
    size_t begin = position();
    uint64_t count = Number(8, elements);
    if (count > num_left() / min_bytes) {
      Fail(begin, std::to_string(count) + " " + elements + " do not fit into the remaining " +
                      std::to_string(num_left()) + " bytes");
    }
    return static_cast<size_t>(count);
  }
  std::string Text(const char* bytes) { return std::string(bytes_.Take(Count(1, bytes))); }
  std::vector<std::string> Texts(const char* elements, const char* bytes) {
    std::vector<std::string> texts(Count(8, elements));
    for (std::string& text : texts) text = Text(bytes);
    return texts;
  }
  bool TakeIf(std::string_view text) { return bytes_.TakeIf(text); }
  size_t position() const { return bytes_.position(); }
  size_t num_left() const { return bytes_.num_left(); }

  [[noreturn]] void Fail(size_t position, const std::string& defect) const {
    TVM_FFI_THROW(ValueError) << "corrupt saved CUDA module at byte " << position << " of "
                              << bytes_.size() << ": " << defect;
    TVM_FFI_UNREACHABLE();
  }

 private:
  ByteReader bytes_;
};

void WriteKernel(const SavedKernel& kernel, Writer* out) {
  out->Text(kernel.name);
  out->Text(kernel.symbol);
  out->Texts(kernel.parameters);
  out->Texts(kernel.launch);
  out->Number(kernel.fixed.size(), 8);
  for (const auto& [name, value] : kernel.fixed) {
    out->Text(name);
    out->Number(value, 8);
  }
}

SavedKernel ReadKernel(Reader* in) {
  SavedKernel kernel;
  kernel.name = in->Text("bytes of a kernel name");
  kernel.symbol = in->Text("bytes of a kernel symbol");
  kernel.parameters = in->Texts("kernel parameters", "bytes of a kernel parameter");
  kernel.launch = in->Texts("launch parameters", "bytes of a launch parameter");
  kernel.fixed.resize(in->Count(16, "fixed launch fields"));
  for (auto& [name, value] : kernel.fixed) {
    name = in->Text("bytes of a launch field name");
    value = in->Number(8, "launch field value");
  }
  return kernel;
}

ImageFormat ReadFormat(Reader* in) {
  size_t position = in->position();
  uint64_t format = in->Number(4, "image format");
  if (format < 1 || format > 3) in->Fail(position, "image format out of range");
  return static_cast<ImageFormat>(format);
}

uint64_t ReadVersion(Reader* in) {
  if (!in->TakeIf(kMagic)) in->Fail(0, "expected the magic bytes `" + std::string(kMagic) + "`");
  uint64_t version = in->Number(4, "version");
  if (version != kOneImage && version != kPlans) {
    TVM_FFI_THROW(ValueError) << "unsupported saved CUDA module: expected format version "
                              << kOneImage << " or " << kPlans << ", got " << version;
  }
  return version;
}

void ReadImages(uint64_t version, Reader* in, SavedModule* module) {
  size_t position = in->position();
  module->images.resize(version == kOneImage ? 1 : in->Count(20, "images"));
  if (module->images.empty()) in->Fail(position, "expected at least one device image, got none");
  for (SavedImage& image : module->images) {
    image.format = ReadFormat(in);
    if (version != kOneImage) image.architecture = in->Text("bytes of an architecture");
    image.content = in->Text("bytes of an image");
  }
}

SavedPlan ReadPlan(Reader* in) {
  SavedPlan plan;
  plan.name = in->Text("bytes of a plan name");
  plan.documentation = in->Text("bytes of the documentation");
  plan.metadata = in->Text("bytes of the metadata");
  plan.program = in->Text("bytes of a launch program");
  return plan;
}

}  // namespace

std::string EncodeModule(const SavedModule& module) {
  const SavedImage& first = module.images.front();
  bool is_simple = module.images.size() == 1 && module.plans.empty() && first.architecture.empty();
  Writer out;
  out.Raw(kMagic);
  out.Number(is_simple ? kOneImage : kPlans, 4);
  if (!is_simple) out.Number(module.images.size(), 8);
  for (const SavedImage& image : module.images) {
    out.Number(static_cast<uint32_t>(image.format), 4);
    if (!is_simple) out.Text(image.architecture);
    out.Text(image.content);
  }
  out.Number(module.kernels.size(), 8);
  for (const SavedKernel& kernel : module.kernels) WriteKernel(kernel, &out);
  if (is_simple) return out.Take();
  out.Number(module.plans.size(), 8);
  for (const SavedPlan& plan : module.plans) {
    for (const std::string* text :
         {&plan.name, &plan.documentation, &plan.metadata, &plan.program}) {
      out.Text(*text);
    }
  }
  return out.Take();
}

SavedModule DecodeModule(std::string_view bytes) {
  Reader in(bytes);
  SavedModule module;
  uint64_t version = ReadVersion(&in);
  ReadImages(version, &in, &module);
  size_t count = in.Count(40, "kernels");  // 40 bytes: each kernel has five u64 sizes
  for (size_t i = 0; i < count; ++i) module.kernels.push_back(ReadKernel(&in));
  count = version == kOneImage ? 0 : in.Count(32, "launch plans");
  for (size_t i = 0; i < count; ++i) module.plans.push_back(ReadPlan(&in));
  if (in.num_left() != 0) {
    in.Fail(in.position(), std::to_string(in.num_left()) + " bytes follow the module");
  }
  return module;
}

}  // namespace tvm::ffi::extra::cuda
