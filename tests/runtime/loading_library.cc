// SPDX-License-Identifier: Apache-2.0
// Calls a function of the loading program from its initialiser, under the loader's lock.
extern "C" void LoadingLibraryInitialiser();

__attribute__((constructor)) static void Initialise() { LoadingLibraryInitialiser(); }
