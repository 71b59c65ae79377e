"""The programs that are compiled on the host, as file name to text."""

from __future__ import annotations

import math

# The exception's type lives in the library and in the executable: catching it by type needs one C++ runtime in both.
_FAILURE_HPP = """\
#pragma once
#include <stdexcept>
#include <string>
struct Failure : std::runtime_error {
  Failure(const std::string &what, int number);
  ~Failure() override;
  int number;
};
[[noreturn]] void fail(const std::string &what, int number);
"""

_FAILURE_CPP = """\
#include "failure.hpp"
Failure::Failure(const std::string &what, int number) : std::runtime_error(what), number(number) {}
Failure::~Failure() = default;
void fail(const std::string &what, int number) { throw Failure(what, number); }
"""

_MAIN_CPP = r"""
#include "failure.hpp"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <link.h>

static std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<char>(c);
  }
  return out + "\"";
}

static int note_library(dl_phdr_info *info, size_t, void *out) {
  const std::string path = info->dlpi_name;
  for (const char *name : {"/libc++.so", "/libc++abi.so", "/libunwind.so", "/libstdc++.so"})
    if (path.find(name) != std::string::npos) static_cast<std::vector<std::string> *>(out)->push_back(path);
  return 0;
}

static int caught() {
  try {
    fail("across the library's border " + std::string(100, '.'), 42);
  } catch (const Failure &failure) {
    return failure.number + static_cast<int>(std::string(failure.what()).size());
  } catch (...) {
    return -1;
  }
}

static long summed() {
  std::atomic<long> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&sum, t] { for (int i = 0; i < 1000; ++i) sum += t; });
  for (auto &thread : threads) thread.join();
  return sum;
}

static long filed() {
  namespace fs = std::filesystem;
  const fs::path directory = fs::current_path() / "proof-files" / "inner";
  fs::create_directories(directory);
  std::ofstream(directory / "bytes") << std::string(1000, 'x');
  const long size = static_cast<long>(fs::file_size(directory / "bytes"));
  return size + static_cast<long>(fs::remove_all(directory.parent_path()));
}

int main(int count, char **) {
  // Of a value that is known at run time alone, so that libm is called and nothing is folded.
  const double x = count * 0.5;
#ifdef _LIBCPP_VERSION
  const char *library = "libc++";
  const long headers = _LIBCPP_VERSION;
#else
  const char *library = "libstdc++";
  const long headers = _GLIBCXX_RELEASE;
#endif
  std::vector<std::string> loaded;
  dl_iterate_phdr(note_library, &loaded);
  std::string libraries;
  for (const auto &path : loaded) libraries += (libraries.empty() ? "" : ", ") + quoted(path);
  std::printf("{\"library\": \"%s\", \"headers\": %ld, ", library, headers);
  std::printf("\"loaded\": [%s], \"values\": {", libraries.c_str());
  std::printf("\"cbrt\": %.17g, \"tgamma\": %.17g, \"erf\": %.17g, ", std::cbrt(x), std::tgamma(x), std::erf(x));
  std::printf("\"strings\": %d, ", std::stoi(std::to_string(40 + count).substr(1) + "7"));
  std::printf("\"exceptions\": %d, \"threads\": %ld, \"filesystem\": %ld}}\n", caught(), summed(), filed());
}
"""

#: Compiled into a shared library and an executable.
CXX_SOURCES = {"failure.hpp": _FAILURE_HPP, "failure.cpp": _FAILURE_CPP, "main.cpp": _MAIN_CPP}

#: What the executable must print as ``values``.
CXX_VALUES: dict[str, float] = {
    "cbrt": 0.5 ** (1 / 3),
    "tgamma": math.gamma(0.5),
    "erf": math.erf(0.5),
    "strings": 17,
    "exceptions": 42 + len("across the library's border ") + 100,
    "threads": (0 + 1 + 2 + 3) * 1000,
    "filesystem": 1000 + 3,
}

#: One kernel with a launch, so that a code object must come out of it.
HIP_SOURCES = {
    "saxpy.hip": """\
#include <hip/hip_runtime.h>

#include <cmath>

__global__ void saxpy(int n, float a, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = std::fma(a, x[i], y[i]);
}

int main() {
  saxpy<<<1, 64>>>(0, 2.0f, nullptr, nullptr);
  return 0;
}
"""
}
