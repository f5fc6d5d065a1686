// The entry point for libFuzzer, and the comparison of an operation's results. A target includes
// this once and defines `run`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <variant>
#include <vector>

#include "cpu/lanes/isa.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "ops.hpp"
#include "reading.hpp"

namespace paretopo::fuzz {

template <typename Scalar>
void run(Bytes& bytes);

// The arrays that operations write. Each has its own memory, so that a sanitizer sees a write
// beyond its end.
class Results {
  public:
    template <typename T>
    T* array(std::size_t size) {
        return add(std::vector<T>(size));
    }
    template <typename T>
    T* add(std::vector<T> values) {
        return std::get<std::vector<T>>(arrays_.emplace_back(std::move(values))).data();
    }

    // Replaces the last array by the index of a value that its operation refused, if it did: then
    // the array may hold anything.
    void settle(std::int64_t refused) {
        if (refused == kNoneRefused) return;
        arrays_.pop_back();
        add(std::vector<std::int64_t>{refused});
        is_complete_ = false;
    }

    bool is_complete() const { return is_complete_; }  // no operation refused a value
    std::vector<double> numbers() const {
        std::vector<double> all;
        for (const auto& array : arrays_) {
            std::visit([&](const auto& each) { all.insert(all.end(), each.begin(), each.end()); },
                       array);
        }
        return all;
    }

  private:
    std::deque<std::variant<std::vector<std::uint8_t>, std::vector<std::int32_t>,
                            std::vector<std::int64_t>, std::vector<float>, std::vector<double>>>
        arrays_;
    bool is_complete_ = true;
};

template <typename Scalar>
void print(const Input<Scalar>& in) {
    std::fprintf(stderr, "groups %lld points %d objectives %d minimised %llx float%zu\n",
                 static_cast<long long>(in.batch.groups), in.batch.points, in.batch.objectives,
                 static_cast<unsigned long long>(in.batch.minimised), 8 * sizeof(Scalar));
    for (std::size_t at = 0; at < in.rows(); ++at) {
        std::fprintf(stderr, in.mask[at] ? "  " : "  (masked)");
        for (std::size_t m = 0; m < in.objectives(); ++m) {
            std::fprintf(stderr, " %.17g", static_cast<double>(in.row(at)[m]));
        }
        std::fprintf(stderr, "\n");
    }
}

// Aborts with a readable form of the input unless all numbers are equal, or differ by at most
// `tolerance` of the largest.
template <typename Scalar>
void compare(const Input<Scalar>& in, const char* where, const std::vector<double>& numbers,
             const std::vector<double>& expected, double tolerance = 0.0) {
    double largest = 1.0;
    for (const double number : expected) {
        if (std::isfinite(number)) largest = std::max(largest, std::fabs(number));
    }
    const auto are_equal = [&](double a, double b) {
        return a == b || (std::isnan(a) && std::isnan(b)) ||
               std::fabs(a - b) <= tolerance * largest;
    };
    const auto [own, other] =
        std::mismatch(numbers.begin(), numbers.end(), expected.begin(), expected.end(), are_equal);
    if (own == numbers.end() && other == expected.end()) return;
    std::fprintf(stderr, "%s: number %td of %zu is %.17g, of %zu expected %.17g\n", where,
                 own - numbers.begin(), numbers.size(), own == numbers.end() ? NAN : *own,
                 expected.size(), other == expected.end() ? NAN : *other);
    print(in);
    std::abort();
}

// Calls call(results) on every instruction set, with one thread or two; all give the same numbers.
// Returns them.
template <typename Scalar, typename Call>
std::vector<double> check_instruction_sets(const Input<Scalar>& in, Bytes& bytes, Call call) {
    std::vector<double> first;
    for (const cpu::Isa isa : cpu::isas()) {
        cpu::set_isa(isa);
        cpu::set_threads(1 + bytes.next() % 2);
        Results results;
        call(results);
        if (isa == cpu::isas().front()) {
            first = results.numbers();
        } else {
            compare(in, cpu::kIsaNames[static_cast<int>(isa)], results.numbers(), first);
        }
    }
    return first;
}

// The place of GPU operations, emulated on the CPU, with the mapping that the input chooses.
template <typename Scalar>
class OnGpu {
  public:
    OnGpu(const Batch<Scalar>& batch, Bytes& bytes)
        : batch_(batch), mapping_(static_cast<Mapping>(bytes.next() % 4)) {}

    // Returns a place with the scratch that an operation needs. The next call invalidates it.
    Emulated place(std::int64_t (*scratch_of)(Emulated, Batch<Scalar>)) {
        const std::int64_t bytes = scratch_of({mapping_, nullptr}, batch_);
        scratch_.assign(static_cast<std::size_t>(bytes), '\x7f');
        return {mapping_, scratch_.data()};
    }

  private:
    Batch<Scalar> batch_;
    Mapping mapping_;
    std::vector<char> scratch_;
};

}  // namespace paretopo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    paretopo::fuzz::Bytes bytes(data, size);
    if (bytes.next() % 2) {
        paretopo::fuzz::run<float>(bytes);
    } else {
        paretopo::fuzz::run<double>(bytes);
    }
    return 0;
}
