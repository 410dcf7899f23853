// SPDX-License-Identifier: Apache-2.0
#include "cuda/module_format.h"

#include <tvm/ffi/error.h>

#include <optional>

#include "module/byte_reader.h"

namespace tvm::ffi::extra::cuda {
namespace {

constexpr std::string_view kMagic = "TVMFFICU";
constexpr uint32_t kOneImage = 1, kPlans = 2;  // versions

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

  uint64_t Number(size_t width, const char* what) {
    if (std::optional<uint64_t> value = bytes_.TakeNumber(width)) return *value;
    Refuse(what);
  }
  // A number of items of at least `least_bytes` each, so that nobody makes room for more.
  size_t Count(size_t least_bytes, const char* what) {
    uint64_t count = Number(8, what);
    if (count > Rest() / least_bytes) Refuse(what);
    return static_cast<size_t>(count);
  }
  std::string Text(const char* what) { return std::string(bytes_.Take(Count(1, what))); }
  std::vector<std::string> Texts(const char* what) {
    std::vector<std::string> texts(Count(8, what));
    for (std::string& text : texts) text = Text(what);
    return texts;
  }
  bool TakeIf(std::string_view text) { return bytes_.TakeIf(text); }
  size_t Rest() const { return bytes_.num_left(); }

  [[noreturn]] void Refuse(const char* what) const {
    TVM_FFI_THROW(ValueError) << "saved CUDA module: " << what << " at byte " << bytes_.position()
                              << " of " << bytes_.size() << " cannot be read";
    TVM_FFI_UNREACHABLE();
  }

 private:
  ByteReader bytes_;
};

void WriteKernel(const KernelText& kernel, Writer* out) {
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

KernelText ReadKernel(Reader* in) {
  KernelText kernel;
  kernel.name = in->Text("the name of a kernel");
  kernel.symbol = in->Text("the symbol of a kernel");
  kernel.parameters = in->Texts("the parameters of a kernel");
  kernel.launch = in->Texts("the launch of a kernel");
  kernel.fixed.resize(in->Count(16, "the fixed launch of a kernel"));
  for (auto& [name, value] : kernel.fixed) {
    name = in->Text("the fixed launch of a kernel");
    value = in->Number(8, "the fixed launch of a kernel");
  }
  return kernel;
}

ImageFormat ReadFormat(Reader* in) {
  uint64_t format = in->Number(4, "the image format");
  if (format < 1 || format > 3) in->Refuse("the image format");
  return static_cast<ImageFormat>(format);
}

uint64_t ReadVersion(Reader* in) {
  if (!in->TakeIf(kMagic)) in->Refuse("the mark");
  uint64_t version = in->Number(4, "the version");
  if (version != kOneImage && version != kPlans) {
    TVM_FFI_THROW(ValueError) << "saved CUDA module: it has version " << version
                              << " of the format, and this runtime reads versions " << kOneImage
                              << " to " << kPlans;
  }
  return version;
}

void ReadImages(uint64_t version, Reader* in, ModuleText* module) {
  module->images.resize(version == kOneImage ? 1 : in->Count(20, "the number of images"));
  if (module->images.empty()) in->Refuse("the number of images");
  for (ImageText& image : module->images) {
    image.format = ReadFormat(in);
    if (version != kOneImage) image.architecture = in->Text("the architecture of an image");
    image.content = in->Text("the image");
  }
}

PlanText ReadPlan(Reader* in) {
  PlanText plan;
  plan.name = in->Text("the name of a plan");
  plan.documentation = in->Text("the documentation of a plan");
  plan.metadata = in->Text("the metadata of a plan");
  plan.program = in->Text("the program of a plan");
  return plan;
}

}  // namespace

std::string EncodeModule(const ModuleText& module) {
  const ImageText& first = module.images.front();
  bool is_simple = module.images.size() == 1 && module.plans.empty() && first.architecture.empty();
  Writer out;
  out.Raw(kMagic);
  out.Number(is_simple ? kOneImage : kPlans, 4);
  if (!is_simple) out.Number(module.images.size(), 8);
  for (const ImageText& image : module.images) {
    out.Number(static_cast<uint32_t>(image.format), 4);
    if (!is_simple) out.Text(image.architecture);
    out.Text(image.content);
  }
  out.Number(module.kernels.size(), 8);
  for (const KernelText& kernel : module.kernels) WriteKernel(kernel, &out);
  if (is_simple) return out.Take();
  out.Number(module.plans.size(), 8);
  for (const PlanText& plan : module.plans) {
    for (const std::string* text :
         {&plan.name, &plan.documentation, &plan.metadata, &plan.program}) {
      out.Text(*text);
    }
  }
  return out.Take();
}

ModuleText DecodeModule(std::string_view bytes) {
  Reader in(bytes);
  ModuleText module;
  uint64_t version = ReadVersion(&in);
  ReadImages(version, &in, &module);
  size_t count = in.Count(40, "the number of kernels");  // five lengths or counts each
  for (size_t i = 0; i < count; ++i) module.kernels.push_back(ReadKernel(&in));
  count = version == kOneImage ? 0 : in.Count(32, "the number of plans");
  for (size_t i = 0; i < count; ++i) module.plans.push_back(ReadPlan(&in));
  if (in.Rest() != 0) in.Refuse("what comes behind the last kernel");
  return module;
}

}  // namespace tvm::ffi::extra::cuda
