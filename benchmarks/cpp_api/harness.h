// SPDX-License-Identifier: Apache-2.0
// Harness of the C++ benchmark programs: rows, the timer, and the protocol of a worker process.
//
// A row runs `repeats` times and returns a sum that proves the work; the sum is checked once before
// the row is timed.  Protocol (one JSON object per line, see call/worker.py): a greeting, then for
// each request {"row": NAME, "burst_ns": N, "bursts": N} an answer {"ns": [...]}.
#ifndef BENCHMARKS_CPP_API_HARNESS_H_
#define BENCHMARKS_CPP_API_HARNESS_H_

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>

namespace benchmark {

struct Row {
  const char* name;
  int64_t operations;  // per repeat
  int64_t expected;    // the result of one repeat
  int64_t (*run)(int64_t repeats);
  int64_t repeats;  // number of repeats per burst; 0 until the row is calibrated
};

// Makes the compiler assume that the value is read and changed.
template <typename T>
void Touch(T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

inline int64_t TimeNs(const Row& row, int64_t repeats) {
  auto start = std::chrono::steady_clock::now();
  int64_t sum = row.run(repeats);
  Touch(sum);
  auto elapsed = std::chrono::steady_clock::now() - start;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count();
}

// Checks and calibrates a row; returns false if its result is wrong.
inline bool Prepare(Row* row, int64_t burst_ns) {
  if (row->run(1) != row->expected) return false;
  int64_t repeats = 1;
  int64_t elapsed = TimeNs(*row, repeats);
  while (elapsed < burst_ns / 4) elapsed = TimeNs(*row, repeats *= 2);
  row->repeats = repeats * burst_ns / (elapsed > 0 ? elapsed : 1);
  if (row->repeats < 1) row->repeats = 1;
  return true;
}

inline void Answer(Row* row, int64_t burst_ns, int bursts) {
  if (row->repeats == 0 && !Prepare(row, burst_ns)) {
    std::printf("{\"unavailable\": \"wrong result\"}\n");
    return;
  }
  TimeNs(*row, row->repeats / 10 + 1);  // warm up: the process was idle during other measurements
  std::printf("{\"ns\": [");
  for (int i = 0; i < bursts; ++i) {
    double ns = static_cast<double>(TimeNs(*row, row->repeats));
    ns /= static_cast<double>(row->repeats * row->operations);
    std::printf("%s%.4f", i > 0 ? ", " : "", ns);
  }
  std::printf("]}\n");
}

// Answers requests until the parent closes the pipe.
template <size_t count>
int Serve(Row (&rows)[count], const char* version) {
  char line[256];
  std::printf("{\"versions\": {\"libtvm_ffi\": \"%s\"}}\n", version);
  std::fflush(stdout);
  while (std::fgets(line, sizeof(line), stdin) != nullptr) {
    char name[64] = "";
    long long burst_ns = 0;
    int bursts = 0;
    std::sscanf(line, "{\"row\": \"%63[^\"]\", \"burst_ns\": %lld, \"bursts\": %d}", name,
                &burst_ns, &bursts);
    Row* found = nullptr;
    for (Row& row : rows) {
      if (std::strcmp(row.name, name) == 0) found = &row;
    }
    if (found == nullptr) {
      std::printf("{\"unavailable\": \"no code for this row\"}\n");
    } else {
      try {
        Answer(found, burst_ns, bursts);
      } catch (const std::exception& error) {
        std::printf("{\"unavailable\": \"an exception was thrown\"}\n");
      }
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace benchmark
#endif  // BENCHMARKS_CPP_API_HARNESS_H_
