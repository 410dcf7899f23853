# SPDX-License-Identifier: Apache-2.0
# Wheels: the same bytes from each folder, and a bill of materials (PEP 770).

find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module NumPy)
message(STATUS "Compiling the runtime and eight extension modules: about two minutes on two processors")

# Windows has no libraries of this compiler.
if(MINGW)
  add_link_options(-static)
endif()

# A run path of the build folder would leave its length in the library.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)

# A configured `@` is written by the variable AT.
set(AT "@")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pytvmffi.cdx.json @ONLY CONTENT [=[
{
  "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
  "bomFormat": "CycloneDX",
  "specVersion": "1.6",
  "version": 1,
  "metadata": {
    "component": {
      "type": "library",
      "bom-ref": "pkg:pypi/pytvmffi@AT@@SKBUILD_PROJECT_VERSION_FULL@",
      "name": "pytvmffi",
      "version": "@SKBUILD_PROJECT_VERSION_FULL@",
      "purl": "pkg:pypi/pytvmffi@AT@@SKBUILD_PROJECT_VERSION_FULL@",
      "licenses": [{ "license": { "id": "Apache-2.0" } }]
    }
  },
  "components": [],
  "dependencies": [{ "ref": "pkg:pypi/pytvmffi@AT@@SKBUILD_PROJECT_VERSION_FULL@", "dependsOn": [] }],
  "compositions": [
    { "aggregate": "complete", "assemblies": ["pkg:pypi/pytvmffi@AT@@SKBUILD_PROJECT_VERSION_FULL@"] }
  ]
}
]=])
install(FILES ${PROJECT_BINARY_DIR}/pytvmffi.cdx.json DESTINATION ${SKBUILD_METADATA_DIR}/sboms)
