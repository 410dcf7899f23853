// SPDX-License-Identifier: Apache-2.0
// Repr of access paths and access steps.
#include "content/access_path_repr.h"

#include <string>
#include <vector>

#include "walk/object_table.h"

namespace tvm::ffi::extra {
namespace {

using reflection::AccessKind;
using reflection::AccessPathObj;
using reflection::AccessStep;
using reflection::AccessStepObj;

std::string StepText(const AccessStepObj& step, const PrintChild& print) {
  std::optional<String> name = step.key.as<String>();
  switch (step.kind) {
    case AccessKind::kAttr:
      return "." + std::string(name.has_value() ? *name : print(step.key));
    case AccessKind::kArrayItem:
    case AccessKind::kMapItem:
      return "[" + std::string(print(step.key)) + "]";
    default:
      return "[<missing:" + std::string(print(step.key)) + ">]";
  }
}

// Returns the steps from `path` to the root.  `parent` is a writable field, so it may refer to an
// object of another type or form a cycle.
std::vector<AccessStep> StepsToRoot(const AccessPathObj* path) {
  std::vector<AccessStep> steps;
  ObjectSet seen;
  while (path != nullptr && seen.Insert(path) && path->step.has_value()) {
    steps.push_back(*path->step);
    path = path->parent.has_value() ? (*path->parent).as<AccessPathObj>() : nullptr;
  }
  return steps;
}

}  // namespace

String PrintAccessStep(const AccessStepObj* step, const PrintChild& print) {
  return StepText(*step, print);
}

String PrintAccessPath(const AccessPathObj* path, const PrintChild& print) {
  std::string text = "<root>";
  std::vector<AccessStep> steps = StepsToRoot(path);
  for (size_t i = steps.size(); i > 0; --i) text += StepText(*steps[i - 1].get(), print);
  return text;
}

}  // namespace tvm::ffi::extra
