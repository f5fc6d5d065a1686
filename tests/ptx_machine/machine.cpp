#include "machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <set>

namespace ptx {

Machine machine;

void die(const std::string& why) {
    std::fprintf(stderr, "the PTX machine: %s\n", why.c_str());
    std::abort();
}

void Touches::add(const Touch& touch) {
    if (first.stamp.is_before(touch.stamp)) {
        first = touch;
        if (second.stamp.is_before(touch.stamp)) second.stamp.launch = 0;
    } else if (second.stamp.is_before(touch.stamp)) {
        second = touch;
    } else if (first.stamp.block == second.stamp.block) {  // of three, two that are far apart
        const bool is_further =
            touch.stamp.block != first.stamp.block ||
            (first.stamp.warp() == second.stamp.warp() && touch.stamp.warp() != first.stamp.warp());
        if (is_further) second = touch;
    }
}

void Machine::find(const std::string& what) {
    ++findings[(kernel_ ? kernel_->name : std::string("no kernel")) + ": " + what];
}

namespace {

std::string place(const Instruction& in) {
    return "line " + std::to_string(in.line) + " " + in.text;
}

}  // namespace

// ---- Memory ----

void Machine::check(Lane& lane, const Instruction& by, Cell& cell, Access access,
                    const char* where) {
    const auto compare = [&](const Touch& before) {
        if (!before.by || before.stamp.is_before(lane.stamp)) return;
        find(std::string("race in ") + where + " memory: " + place(*before.by) + " and " +
             place(by));
    };
    const Touch touch{lane.stamp, &by};
    compare(cell.write);
    if (access != Access::kRead) {
        compare(cell.reads.first);
        compare(cell.reads.second);
    }
    if (access != Access::kAtomic) {
        compare(cell.atomics.first);
        compare(cell.atomics.second);
    }
    if (access == Access::kRead) cell.reads.add(touch);
    if (access == Access::kAtomic) cell.atomics.add(touch);
    if (access == Access::kWrite) cell = Cell{touch, {}, {}};
}

char* Machine::reach(Lane& lane, const Instruction& by, std::uint64_t address, int bytes,
                     Access access) {
    const auto size = static_cast<std::uint64_t>(bytes);
    if (address % size != 0) find("misaligned: " + place(by));
    if (address - kParamWindow < kWindowBytes) {
        const std::uint64_t at = address - kParamWindow;
        const auto& parameters = *lane.block->parameters;
        if (access != Access::kRead || at + size > parameters.size()) {
            find("beyond the parameters: " + place(by));
            return nullptr;
        }
        return const_cast<char*>(parameters.data()) + at;
    }
    if (address - kSharedWindow < kWindowBytes) {
        Block& block = *lane.block;
        const std::uint64_t at = address - kSharedWindow - kSharedStart;
        if (at >= block.shared.size() || at + size > block.shared.size()) {
            find("out of bounds of shared memory: " + place(by));
            return nullptr;
        }
        for (std::uint64_t k = at; k < at + size; ++k) {
            if (access != Access::kWrite && !block.is_written[k]) {
                find("read of uninitialised shared memory: " + place(by));
                break;
            }
            if (access != Access::kRead) block.is_written[k] = true;
        }
        for (std::uint64_t k = at / 4; k <= (at + size - 1) / 4; ++k) {
            check(lane, by, block.cells[k], access, "shared");
        }
        return block.shared.data() + at;
    }
    auto next = regions.upper_bound(address);
    if (next == regions.begin()) {
        find("out of bounds: " + place(by));
        return nullptr;
    }
    Region& region = std::prev(next)->second;
    const std::uint64_t at = address - region.start;
    if (at >= region.bytes || at + size > region.bytes) {
        find("out of bounds: " + place(by));
        return nullptr;
    }
    if (is_counting) {
        Counts& own = counts[kernel_->name];
        (access == Access::kWrite ? own.written : own.read) += size;
    }
    if (region.is_input) {
        if (access != Access::kRead) find("write into an input: " + place(by));
        return reinterpret_cast<char*>(address);
    }
    for (std::uint64_t k = at; k < at + size; ++k) {
        if (access != Access::kWrite && !region.is_written[k]) {
            find("read of uninitialised global memory: " + place(by));
            break;
        }
        if (access != Access::kRead) region.is_written[k] = true;
    }
    const auto grain = static_cast<std::uint64_t>(region.grain);
    for (std::uint64_t k = at / grain; k <= (at + size - 1) / grain; ++k) {
        check(lane, by, region.cells[k], access, "global");
    }
    return reinterpret_cast<char*>(address);
}

// ---- Lanes ----

void Machine::run_until_wait(Lane& lane, std::uint64_t steps) {
    const Kernel& kernel = *lane.block->kernel;
    for (; steps > 0; --steps) {
        const Instruction& in = kernel.code[lane.at];
        if (executed_) ++(*executed_)[lane.stamp.lane * kernel.code.size() + lane.at];
        ++lane.at;
        if (++lane.steps > most_steps) {
            find("a lane that does not end");
            lane.state = Next::kEnd;
            lane.current = &in;
            return;
        }
        if (in.guard >= 0 &&
            (lane.registers[static_cast<std::size_t>(in.guard)] != 0) == in.is_guard_negated)
            continue;
        const Next next = in.execute(lane, in);
        if (next == Next::kGoOn) continue;
        lane.state = next;
        lane.current = &in;
        return;
    }
}

// All lanes of a warp have come to the same instruction.
void Machine::answer(Block& block, int warp) {
    Lane* lanes = &block.lanes[static_cast<std::size_t>(warp * kWarpLanes)];
    const Instruction& in = *lanes[0].current;
    for (int k = 0; k < kWarpLanes; ++k) {
        if (lanes[k].current != &in) {
            find("lanes of a warp wait in different places: " + place(in) + " and " +
                 place(*lanes[k].current));
            break;
        }
        const bool is_shuffle =
            in.collective == Collective::kButterfly || in.collective == Collective::kBroadcast;
        const int mask_at = in.collective == Collective::kWait ? 0 : is_shuffle ? 3 : 1;
        if (lanes[k].get<std::uint32_t>(in.from[mask_at]) != ~0U)
            find("a mask of some lanes: " + place(in));
    }
    std::uint32_t ballot = 0;
    std::uint64_t before[kWarpLanes];
    for (int k = 0; k < kWarpLanes; ++k) {
        before[k] = lanes[k].registers[in.from[0]];
        ballot |= std::uint32_t{(before[k] != 0) != in.is_negated} << k;
    }
    for (int k = 0; k < kWarpLanes; ++k) {
        Lane& lane = lanes[k];
        lane.state = Next::kGoOn;
        switch (in.collective) {
            case Collective::kWait:
                ++lane.stamp.warp_waits;
                break;
            case Collective::kBallot:
                lane.set<std::uint32_t>(in.to[0], ballot);
                break;
            case Collective::kAny:
                lane.set<std::uint8_t>(in.to[0], ballot != 0);
                break;
            case Collective::kAll:
                lane.set<std::uint8_t>(in.to[0], ballot == ~0U);
                break;
            case Collective::kButterfly:
            case Collective::kBroadcast: {
                if (lane.get<std::uint32_t>(in.from[2]) != 31) die("a shuffle of parts of a warp");
                const bool is_relative = in.collective == Collective::kButterfly;
                const auto other = lane.get<std::uint32_t>(in.from[1]) ^
                                   (is_relative ? static_cast<std::uint32_t>(k) : 0);
                lane.set<std::uint32_t>(in.to[0],
                                        static_cast<std::uint32_t>(before[other % kWarpLanes]));
                if (in.to[1] != kNothing) lane.set<std::uint8_t>(in.to[1], 1);
                break;
            }
        }
    }
}

void Machine::run(Block& block) {
    const int count = static_cast<int>(block.lanes.size());
    const int policy = schedule >= 0 ? schedule : static_cast<int>(chance() % 5);
    std::vector<int> ready(static_cast<std::size_t>(count));
    std::iota(ready.begin(), ready.end(), 0);
    int left = count;
    int at_block = 0;
    std::vector<int> at_warp(static_cast<std::size_t>((count + kWarpLanes - 1) / kWarpLanes));
    std::uint64_t turn = 0;
    while (left > 0) {
        if (ready.empty()) {
            std::set<std::string> places;
            for (const Lane& lane : block.lanes) {
                if (lane.state != Next::kEnd) places.insert(place(*lane.current));
            }
            std::string all;
            for (const auto& one : places) all += "; " + one;
            return find("lanes wait for lanes that never come" + all);
        }
        std::size_t pick = 0;
        std::uint64_t steps = ~std::uint64_t{0};
        switch (policy) {
            case 0:
                pick = chance() % ready.size();
                break;
            case 1:
                pick = chance() % ready.size();
                steps = 1 + chance() % 64;
                break;
            case 2:
                pick = static_cast<std::size_t>(std::min_element(ready.begin(), ready.end()) -
                                                ready.begin());
                break;
            case 3:
                pick = static_cast<std::size_t>(std::max_element(ready.begin(), ready.end()) -
                                                ready.begin());
                break;
            default:
                pick = turn++ % ready.size();
                steps = 1 + chance() % 4;
                break;
        }
        const int own = ready[pick];
        Lane& lane = block.lanes[static_cast<std::size_t>(own)];
        run_until_wait(lane, steps);
        if (lane.state == Next::kGoOn) continue;
        ready[pick] = ready.back();
        ready.pop_back();
        const int warp = own / kWarpLanes;
        int& of_warp = at_warp[static_cast<std::size_t>(warp)];
        if (lane.state == Next::kEnd) {
            --left;
        } else if (lane.state == Next::kWaitForWarp) {
            if (++of_warp == kWarpLanes) {
                of_warp = 0;
                answer(block, warp);
                for (int k = 0; k < kWarpLanes; ++k) ready.push_back(warp * kWarpLanes + k);
            }
        } else if (++at_block == count) {
            at_block = 0;
            const Instruction* first = block.lanes[0].current;
            for (Lane& each : block.lanes) {
                if (each.current != first)
                    find("lanes of a block wait in different places: " + place(*first));
                ++each.stamp.block_waits;
                each.state = Next::kGoOn;
            }
            for (int k = 0; k < count; ++k) ready.push_back(k);
        }
    }
}

void Machine::launch(const Kernel& kernel, const Grid& grid, const std::vector<char>& parameters) {
    kernel_ = &kernel;
    ++launches_;
    Block block;
    block.kernel = &kernel;
    block.grid = &grid;
    block.parameters = &parameters;
    block.lanes.resize(grid.threads);
    const std::size_t shared = kernel.shared_bytes + grid.shared_bytes;
    const std::uint64_t blocks = std::uint64_t{grid.blocks_x} * grid.blocks_y;
    std::vector<std::uint64_t> order(blocks);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::shuffle(order.begin(), order.end(), chance);
    std::vector<std::uint32_t> executed;
    executed_ = is_counting ? &executed : nullptr;
    for (const std::uint64_t own : order) {
        block.shared.resize(shared);
        for (char& byte : block.shared) byte = static_cast<char>(chance());
        block.is_written.assign(shared, false);
        block.cells.assign(shared / 4 + 1, Cell());
        for (std::uint32_t k = 0; k < grid.threads; ++k) {
            Lane& lane = block.lanes[k];
            lane.registers = kernel.registers;
            lane.registers[kTid] = k;
            lane.registers[kThreads] = grid.threads;
            lane.registers[kBlockX] = own % grid.blocks_x;
            lane.registers[kBlockY] = own / grid.blocks_x;
            lane.registers[kBlocksX] = grid.blocks_x;
            lane.registers[kBlocksY] = grid.blocks_y;
            lane.at = 0;
            lane.steps = 0;
            lane.state = Next::kGoOn;
            lane.block = &block;
            lane.stamp = Stamp{launches_, static_cast<std::uint32_t>(own), 0, 0,
                               static_cast<std::uint16_t>(k)};
        }
        if (is_counting) executed.assign(grid.threads * kernel.code.size(), 0);
        run(block);
        if (is_counting) count(block, executed);
    }
    ++counts[kernel.name].launches;
    kernel_ = nullptr;
}

// A warp issues an instruction as often as its busiest lane executes it; the other lanes idle.
void Machine::count(const Block& block, std::vector<std::uint32_t>& executed) {
    Counts& own = counts[block.kernel->name];
    const std::size_t length = block.kernel->code.size();
    for (std::size_t warp = 0; warp < block.lanes.size(); warp += kWarpLanes) {
        ++own.warps;
        for (std::size_t at = 0; at < length; ++at) {
            std::uint32_t most = 0;
            for (std::size_t k = warp; k < warp + kWarpLanes; ++k) {
                most = std::max(most, executed[k * length + at]);
                own.lane_instructions += executed[k * length + at];
            }
            if (most > 0) own.issued[block.kernel->code[at].opcode] += most;
        }
    }
}

}  // namespace ptx
