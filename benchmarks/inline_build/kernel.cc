// SPDX-License-Identifier: Apache-2.0
// Minimal C++ kernel of the build rows; the build adds the includes and the export.
int64_t triple(int64_t x) { return 3 * x; }
