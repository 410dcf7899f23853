// SPDX-License-Identifier: Apache-2.0
//
// Layout checks of layout_test.c, compiled as C++.
#include "layout_test.c"  // NOLINT(bugprone-suspicious-include): the same checks, other language
