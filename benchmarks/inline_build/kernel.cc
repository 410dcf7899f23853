// SPDX-License-Identifier: Apache-2.0
// A small kernel in C++; the build puts the includes in front and the export behind.
int64_t triple(int64_t x) { return 3 * x; }
