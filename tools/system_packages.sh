#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# System packages that the build and the tests need.
#
#   tools/system_packages.sh build|c-tests|python-tests|sanitizers|platforms ...
#
# Find the packages that are missing for these purposes.  Install them if that needs no password:
# with apt or dnf as root or by passwordless sudo, and with Homebrew.  Otherwise print one message
# with all missing packages and the command that installs them, and fail.  If no package is missing,
# the script takes a fraction of a second and does not use the network.
#
# Variables: PYTHON, CC and CXX name the programs to check; with SYSTEM_PACKAGES=check the script
# reports missing packages without installing them.
set -u

PYTHON=${PYTHON:-python3}
CC=${CC:-cc}
CXX=${CXX:-c++}
SYSTEM_PACKAGES=${SYSTEM_PACKAGES:-install}

has() { command -v "$1" >/dev/null 2>&1; }

# ---- Package manager -----------------------------------------------------------------------------

if has apt-get; then
  manager=apt install="apt-get install"
elif has dnf; then
  manager=dnf install="dnf install"
elif has brew; then
  manager=brew install="brew install"
else
  manager=none install=
fi

as_root=
if [ "$manager" = apt ] || [ "$manager" = dnf ]; then
  [ "$(id -u)" = 0 ] || as_root=sudo
fi

may_install() {
  [ "$SYSTEM_PACKAGES" = install ] || return 1
  case $manager in
    none) return 1 ;;
    brew) return 0 ;;
  esac
  [ -z "$as_root" ] || sudo -n true 2>/dev/null
}

# ---- Missing packages ----------------------------------------------------------------------------

required= required_text= optional= optional_text=

# need TEXT APT DNF BREW: record a missing package, with a description and its name for each package
# manager; "-" if a manager has no such package.
need() {
  name=$(package_name "$2" "$3" "$4")
  required_text="$required_text
  $1"
  [ "$name" = - ] || required="$required $name"
}

# want TEXT APT DNF BREW: record a missing package that is optional; arguments as for need.
want() {
  name=$(package_name "$2" "$3" "$4")
  [ "$name" = - ] && return
  optional="$optional $name"
  optional_text="${optional_text:+$optional_text; }$name: $1"
}

package_name() {
  case $manager in
    apt) echo "$1" ;;
    dnf) echo "$2" ;;
    brew) echo "$3" ;;
    none) echo - ;;
  esac
}

# Print the problems of $PYTHON: "old" version, missing "venv" module, missing "headers".
python_lacks() {
  "$PYTHON" -c '
import importlib.util, os, sys, sysconfig
lacks = []
if sys.version_info < (3, 9):
    lacks.append("old")
if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
    lacks.append("venv")
if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    lacks.append("headers")
print(*lacks)'
}

# Print the prefix of the package names of $PYTHON: python3 for the default Python of the system,
# python3.12 or similar for other versions.
python_package() {
  version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  if [ "$version" = "$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>&1)" ]
  then
    echo python3
  else
    echo "python$version"
  fi
}

compiles() { printf '#include <%s>\n' "$1" | $2 -E -x "$3" - >/dev/null 2>&1; }

check_build() {
  compiles stdlib.h "$CC" c || need "a C compiler ($CC) with the headers of the C library" \
    "gcc libc6-dev" "gcc glibc-devel" gcc
  compiles string "$CXX" c++ || need "a C++17 compiler ($CXX)" g++ gcc-c++ gcc
  if ! has "$PYTHON"; then
    need "Python 3.9 or later ($PYTHON) with its headers" "python3 python3-venv python3-dev" \
      "python3 python3-devel" python
    return
  fi
  for part in $(python_lacks); do
    case $part in
      old) need "Python 3.9 or later; $PYTHON is older: name another one with PYTHON=PATH" - - - ;;
      venv) need "the modules venv and ensurepip of $PYTHON" "$(python_package)-venv" \
        "$(python_package)" python ;;
      headers) need "the C headers of $PYTHON (Python.h)" "$(python_package)-dev" \
        "$(python_package)-devel" python ;;
    esac
  done
}

# Search doctest in the prefixes in which CMake searches it.
has_doctest() {
  [ -n "${doctest_DIR:-}${doctest_ROOT:-}" ] && return
  for prefix in $(printf '%s:' "${CMAKE_PREFIX_PATH:-}" | tr ':' ' ') \
    $(printf '%s:' "$PATH" | sed 's#/s\{0,1\}bin/\{0,1\}:#:#g' | tr ':' ' ') /usr /usr/local; do
    for config in "$prefix"/lib*/cmake/doctest*/doctestConfig.cmake \
      "$prefix"/lib/*/cmake/doctest*/doctestConfig.cmake \
      "$prefix"/share/cmake/doctest*/doctestConfig.cmake; do
      [ -e "$config" ] && return
    done
  done
  return 1
}

has_browser() { has chromium || has chromium-browser || has google-chrome; }

check_ccache() {
  has ccache || want "files that did not change are not compiled again" ccache ccache ccache
}

check_c_tests() {
  has_doctest || need "doctest 2.4, the framework of the C++ tests" doctest-dev doctest-devel doctest
}

check_python_tests() {
  # Ubuntu has Chromium only as a snap, which cannot be installed in a container.
  chromium=chromium
  grep -qs '^ID=ubuntu' /etc/os-release && chromium=-
  has_browser || want "the tests of the site's pages in a browser" "$chromium" chromium -
}

check_sanitizers() {
  for sanitizer in address undefined thread; do
    printf 'int main(void) { return 0; }\n' |
      $CC "-fsanitize=$sanitizer" -x c - -o /dev/null 2>/dev/null || case $sanitizer in
      address) need "the library of AddressSanitizer" gcc libasan gcc ;;
      undefined) need "the library of UndefinedBehaviorSanitizer" gcc libubsan gcc ;;
      thread) need "the library of ThreadSanitizer" gcc libtsan gcc ;;
    esac
  done
}

# Cross compilers and emulators; only Debian's names of them are known.
check_platforms() {
  check_c_tests
  for program in aarch64-linux-gnu-g++:crossbuild-essential-arm64 \
    riscv64-linux-gnu-g++:g++-riscv64-linux-gnu arm-linux-gnueabihf-g++:g++-arm-linux-gnueabihf \
    x86_64-w64-mingw32-g++-posix:g++-mingw-w64-x86-64 wine:wine \
    qemu-aarch64-static:qemu-user-static mmdebstrap:mmdebstrap em++:emscripten node:nodejs; do
    has "${program%:*}" || need "${program%:*}" "${program#*:}" - -
  done
  # Programs that Zig links for musl name musl's loader.
  [ "$(uname -m)" != x86_64 ] || [ -e /lib/ld-musl-x86_64.so.1 ] || need "musl's loader" musl - -
}

check() {
  required= required_text= optional= optional_text=
  for purpose in "$@"; do
    case $purpose in
      build) check_build ;;
      c-tests) check_c_tests ;;
      python-tests) check_python_tests ;;
      sanitizers) check_sanitizers ;;
      platforms) check_platforms ;;
      *) echo "$0: expected build, c-tests, python-tests, sanitizers or platforms, got $purpose" >&2; exit 2 ;;
    esac
  done
  [ "$*" = build ] || check_ccache
}

# ---- Installation --------------------------------------------------------------------------------

run_as_root() { ${as_root:+sudo -n} "$@"; }

install_packages() {
  case $manager in
    apt) run_as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -qq --no-install-recommends "$@" ;;
    dnf) run_as_root dnf install -q -y "$@" ;;
    brew) brew install --quiet "$@" ;;
  esac
}

# Install optional packages one by one, so that a failure does not affect the other packages.
install_missing() {
  [ "$manager" != apt ] || run_as_root apt-get update -qq || return
  # shellcheck disable=SC2086  # a list of names
  [ -z "$required" ] || install_packages $required || return
  for package in $optional; do
    install_packages "$package" || echo "optional package $package: not installed" >&2
  done
}

check "$@"
if [ -n "$required$optional" ] && may_install; then
  echo "installing system packages:$required$optional"
  install_missing >&2
  check "$@"
fi

if [ -n "$required_text" ]; then
  {
    echo "The system lacks:$required_text"
    if [ -n "$required" ]; then
      echo "Install the packages and run make again:"
      echo "  ${as_root:+sudo }$install$required"
    fi
    [ -z "$optional" ] || echo "Optional packages: $optional_text"
  } >&2
  exit 1
fi
[ -z "$optional" ] || echo "optional packages that are not installed: $optional_text"
