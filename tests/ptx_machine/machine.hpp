// An interpreter that runs the PTX of csrc/gpu on the CPU and detects errors that a GPU hides: races,
// accesses that are out of bounds, misaligned or uninitialised, and lanes that diverge before a
// barrier. An unknown instruction ends the program; none is skipped.
//
// It does not model the order in which unsynchronised writes become visible (each such access is
// reported) or ptxas, the step from PTX to machine code.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace ptx {

inline constexpr int kWarpLanes = 32;

enum class Type : std::uint8_t {
    kNone,
    kPred,
    kU8,
    kS8,
    kU16,
    kS16,
    kU32,
    kS32,
    kU64,
    kS64,
    kF32,
    kF64
};
enum class Space : std::uint8_t { kGeneric, kGlobal, kShared, kParam };
enum class Access : std::uint8_t { kRead, kWrite, kAtomic };
enum class Collective : std::uint8_t { kWait, kBallot, kAny, kAll, kButterfly, kBroadcast };
enum class Next : std::uint8_t { kGoOn, kEnd, kWaitForWarp, kWaitForBlock };

// A generic address of shared memory or of a parameter: its own, and this.
inline constexpr std::uint64_t kSharedWindow = 0xf0'0000'0000'0000;
inline constexpr std::uint64_t kParamWindow = 0xe0'0000'0000'0000;
inline constexpr std::uint64_t kWindowBytes = 0x01'0000'0000'0000;
inline constexpr std::uint64_t kSharedStart = 1024;  // null is no address of shared memory

// Initial contents of the registers of a lane.
enum Special : std::uint32_t {
    kNothing,
    kTid,
    kThreads,
    kBlockX,
    kBlockY,
    kBlocksX,
    kBlocksY,
    kSpecials
};

struct Lane;
struct Instruction;
using Execute = Next (*)(Lane&, const Instruction&);

// Operands are registers; constants, too, have registers of their own.
struct Instruction {
    Execute execute = nullptr;
    int guard = -1;  // register of a predicate, or none
    bool is_guard_negated = false;
    bool is_negated = false;  // the predicate that is voted on
    Space space = Space::kGeneric;
    Collective collective = Collective::kWait;
    std::uint8_t width = 1;  // of a vector
    std::uint32_t to[4] = {};
    std::uint32_t from[4] = {};
    std::int64_t offset = 0;
    std::uint32_t target = 0;  // of a branch
    int line = 0;
    std::string opcode;
    std::string text;
};

struct Kernel {
    struct Parameter {
        std::uint64_t offset, bytes;
    };
    std::string name;
    std::vector<Parameter> parameters;
    std::uint64_t parameter_bytes = 0;
    std::uint64_t shared_bytes = 0;        // static
    std::uint32_t most_threads = 0;        // 0: any number
    std::vector<std::uint64_t> registers;  // as they are at the beginning
    std::vector<Instruction> code;
};

// The kernels of a translation unit.
std::vector<std::unique_ptr<Kernel>> parse(const std::string& text);

// ---- Memory ----

// Who touched something, and when: lanes are ordered by the waits they had in common.
struct Stamp {
    std::uint32_t launch = 0;  // 0: not touched yet
    std::uint32_t block = 0;
    std::uint32_t block_waits = 0;
    std::uint32_t warp_waits = 0;
    std::uint16_t lane = 0;

    int warp() const { return lane / kWarpLanes; }
    bool is_before(const Stamp& later) const {
        if (launch != later.launch) return true;
        if (block != later.block) return false;
        if (lane == later.lane || block_waits < later.block_waits) return true;
        return warp() == later.warp() && warp_waits < later.warp_waits;
    }
};

struct Touch {
    Stamp stamp;
    const Instruction* by = nullptr;
};

// Two who read, or changed it atomically, and are not ordered: whoever writes next is not both.
struct Touches {
    Touch first, second;
    void add(const Touch& touch);
};

// The history of a word, or of a byte where lanes share words.
struct Cell {
    Touch write;
    Touches reads, atomics;
};

// Global memory that is lent to the machine.
struct Region {
    std::uint64_t start, bytes;
    int grain;  // of its cells, in bytes
    bool is_input;
    std::vector<bool> is_written;
    std::vector<Cell> cells;
};

// ---- Running ----

struct Block;
struct Lane {
    std::vector<std::uint64_t> registers;
    std::uint32_t at = 0;
    const Instruction* current = nullptr;
    Next state = Next::kGoOn;
    Stamp stamp;
    Block* block = nullptr;
    std::uint64_t steps = 0;

    template <typename T>
    T get(std::uint32_t index) const {
        T value;
        std::memcpy(&value, &registers[index], sizeof(T));
        return value;
    }
    template <typename T>
    void set(std::uint32_t index, T value) {
        if constexpr (std::is_integral_v<T>) {
            registers[index] = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
            if constexpr (std::is_unsigned_v<T>) registers[index] = value;
        } else {
            registers[index] = 0;
            std::memcpy(&registers[index], &value, sizeof(T));
        }
    }
};

struct Grid {
    std::uint32_t blocks_x, blocks_y, threads;
    std::uint64_t shared_bytes;  // dynamic
};

struct Block {
    const Kernel* kernel;
    const Grid* grid;
    const std::vector<char>* parameters;
    std::vector<Lane> lanes;
    std::vector<char> shared;
    std::vector<bool> is_written;
    std::vector<Cell> cells;
};

struct Counts {
    std::uint64_t launches = 0, warps = 0, lane_instructions = 0;
    std::uint64_t read = 0, written = 0;  // bytes of global memory
    std::map<std::string, std::uint64_t>
        issued;  // by a warp, by opcode: most of any lane, by place
};

class Machine {
  public:
    // Where `bytes` at `address` lie; null, and a finding, where nothing may be touched.
    char* reach(Lane& lane, const Instruction& by, std::uint64_t address, int bytes, Access access);
    void launch(const Kernel& kernel, const Grid& grid, const std::vector<char>& parameters);
    void find(const std::string& what);

    std::map<std::uint64_t, Region> regions;  // by start
    std::map<std::string, std::uint64_t> findings;
    std::map<std::string, Counts> counts;  // by kernel
    std::mt19937_64 chance{1};
    int schedule = -1;  // one of five, or, drawn for each block, all
    bool is_counting = false;
    std::uint64_t most_steps = 2'000'000'000;  // of a lane

  private:
    void run(Block& block);
    void run_until_wait(Lane& lane, std::uint64_t steps);
    void answer(Block& block, int warp);
    void check(Lane& lane, const Instruction& by, Cell& cell, Access access, const char* where);
    void count(const Block& block, std::vector<std::uint32_t>& executed);

    std::uint32_t launches_ = 0;
    const Kernel* kernel_ = nullptr;
    std::vector<std::uint32_t>* executed_ = nullptr;
};

extern Machine machine;

[[noreturn]] void die(const std::string& why);

}  // namespace ptx
