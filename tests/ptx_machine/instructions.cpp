#include "instructions.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <sstream>
#include <tuple>

namespace ptx {
namespace {

struct Named {
    const char* name;
    Type type;
    int bytes;
};
const Named kTypes[] = {{"pred", Type::kPred, 0}, {"b8", Type::kU8, 1},   {"u8", Type::kU8, 1},
                        {"s8", Type::kS8, 1},     {"b16", Type::kU16, 2}, {"u16", Type::kU16, 2},
                        {"s16", Type::kS16, 2},   {"b32", Type::kU32, 4}, {"u32", Type::kU32, 4},
                        {"s32", Type::kS32, 4},   {"b64", Type::kU64, 8}, {"u64", Type::kU64, 8},
                        {"s64", Type::kS64, 8},   {"f32", Type::kF32, 4}, {"f64", Type::kF64, 8}};

template <typename T>
struct Of {
    using type = T;
};

// Calls op with the type, of those that Op can take.
template <typename Op>
Execute with_integer(Type type, Op op) {
    switch (type) {
        case Type::kU8:
            return op(Of<std::uint8_t>());
        case Type::kS8:
            return op(Of<std::int8_t>());
        case Type::kU16:
            return op(Of<std::uint16_t>());
        case Type::kS16:
            return op(Of<std::int16_t>());
        case Type::kU32:
            return op(Of<std::uint32_t>());
        case Type::kS32:
            return op(Of<std::int32_t>());
        case Type::kU64:
            return op(Of<std::uint64_t>());
        case Type::kS64:
            return op(Of<std::int64_t>());
        default:
            return nullptr;
    }
}
template <typename Op>
Execute with_number(Type type, Op op) {
    if (type == Type::kF32) return op(Of<float>());
    if (type == Type::kF64) return op(Of<double>());
    return with_integer(type, op);
}
template <typename Op>
Execute with_bits(Type type, Op op) {
    if (type == Type::kPred) return op(Of<std::uint8_t>());
    return with_integer(type, op);
}

// An instruction of n operands of one type, which Op returns.
template <typename Op, typename T, int kOperands>
Next compute(Lane& lane, const Instruction& in) {
    T operands[kOperands];
    for (int k = 0; k < kOperands; ++k) operands[k] = lane.get<T>(in.from[k]);
    const auto result = std::apply(Op{}, std::to_array(operands));
    lane.set<T>(in.to[0], static_cast<T>(result));
    return Next::kGoOn;
}

// Integers wrap.
template <typename T>
using Wrapping = std::make_unsigned_t<std::conditional_t<sizeof(T) < 4, std::int32_t, T>>;

template <typename Op>
struct Wrapped {
    template <typename T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>)
            return Op{}(a, b);
        else
            return static_cast<T>(Op{}(static_cast<Wrapping<T>>(a), static_cast<Wrapping<T>>(b)));
    }
};
using Add = Wrapped<std::plus<>>;
using Subtract = Wrapped<std::minus<>>;
using Multiply = Wrapped<std::multiplies<>>;  // the low half, for integers
struct MultiplyHigh {
    template <typename T>
    T operator()(T a, T b) const {
        __extension__ using Wide =
            std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
        return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> (8 * sizeof(T)));
    }
};
struct MultiplyAdd {
    template <typename T>
    T operator()(T a, T b, T c) const {
        return Add{}(Multiply{}(a, b), c);
    }
};
struct FusedMultiplyAdd {
    template <typename T>
    T operator()(T a, T b, T c) const {
        return std::fma(a, b, c);
    }
};
struct Divide {  // by 0: anything, on a GPU all bits
    template <typename T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>)
            return a / b;
        else if (b == 0)
            return static_cast<T>(~T(0));
        else if (std::is_signed_v<T> && b == static_cast<T>(-1))
            return Subtract{}(T(0), a);
        else
            return static_cast<T>(a / b);
    }
};
struct Remainder {
    template <typename T>
    T operator()(T a, T b) const {
        if (b == 0) return static_cast<T>(~T(0));
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
        return static_cast<T>(a % b);
    }
};
// The smaller or the larger one; a number if there is one.
template <bool kLarger>
struct Extreme {
    template <typename T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>) {
            if (std::isnan(a)) return b;
            if (std::isnan(b)) return a;
            if (a == b) return std::signbit(a) != kLarger ? a : b;
        }
        return (kLarger ? a > b : a < b) ? a : b;
    }
};
using Smaller = Extreme<false>;
using Larger = Extreme<true>;
struct Negate {
    template <typename T>
    T operator()(T a) const {
        if constexpr (std::is_floating_point_v<T>)
            return -a;
        else
            return Subtract{}(T(0), a);
    }
};
struct Absolute {
    template <typename T>
    T operator()(T a) const {
        if constexpr (std::is_floating_point_v<T>)
            return std::fabs(a);
        else
            return a < 0 ? Negate{}(a) : a;
    }
};
struct Root {
    template <typename T>
    T operator()(T a) const {
        return std::sqrt(a);
    }
};
template <typename T>
Next invert(Lane& lane, const Instruction& in) {
    lane.set<T>(in.to[0], static_cast<T>(~lane.get<T>(in.from[0])));
    return Next::kGoOn;
}
Next invert_predicate(Lane& lane, const Instruction& in) {
    lane.set<std::uint8_t>(in.to[0], lane.get<std::uint8_t>(in.from[0]) == 0);
    return Next::kGoOn;
}
template <typename T>
Next shift_left(Lane& lane, const Instruction& in) {
    const auto by = lane.get<std::uint32_t>(in.from[1]);
    const auto value = static_cast<Wrapping<T>>(lane.get<T>(in.from[0]));
    lane.set<T>(in.to[0], by >= 8 * sizeof(T) ? T(0) : static_cast<T>(value << by));
    return Next::kGoOn;
}
template <typename T>
Next shift_right(Lane& lane, const Instruction& in) {
    const auto by = std::min<std::uint32_t>(lane.get<std::uint32_t>(in.from[1]), 8 * sizeof(T));
    const T value = lane.get<T>(in.from[0]);
    const T filled = std::is_signed_v<T> && value < 0 ? static_cast<T>(-1) : T(0);
    lane.set<T>(in.to[0], by == 8 * sizeof(T) ? filled : static_cast<T>(value >> by));
    return Next::kGoOn;
}
// A product as wide as both factors together, and a sum with it.
template <typename T, typename Wide, bool kAdds>
Next multiply_wide(Lane& lane, const Instruction& in) {
    const auto product = static_cast<Wide>(static_cast<Wide>(lane.get<T>(in.from[0])) *
                                           static_cast<Wide>(lane.get<T>(in.from[1])));
    lane.set<Wide>(in.to[0], kAdds ? Add{}(product, lane.get<Wide>(in.from[2])) : product);
    return Next::kGoOn;
}
template <typename T>
Next choose(Lane& lane, const Instruction& in) {
    const bool is_first = lane.get<std::uint8_t>(in.from[2]) != 0;
    lane.set<T>(in.to[0], lane.get<T>(in.from[is_first ? 0 : 1]));
    return Next::kGoOn;
}
template <typename From, typename To>
Next convert(Lane& lane, const Instruction& in) {
    lane.set<To>(in.to[0], static_cast<To>(lane.get<From>(in.from[0])));
    return Next::kGoOn;
}
// As a GPU converts: towards zero, saturated, NaN to 0.
template <typename From, typename To>
Next truncate(Lane& lane, const Instruction& in) {
    const From value = std::trunc(lane.get<From>(in.from[0]));
    To result = 0;
    if (value >= std::ldexp(From(1), std::numeric_limits<To>::digits)) {
        result = std::numeric_limits<To>::max();
    } else if (value < static_cast<From>(std::numeric_limits<To>::min())) {
        result = std::numeric_limits<To>::min();
    } else if (!std::isnan(value)) {
        result = static_cast<To>(value);
    }
    lane.set<To>(in.to[0], result);
    return Next::kGoOn;
}
template <typename T>
Next count_leading_zeros(Lane& lane, const Instruction& in) {
    lane.set<std::int32_t>(in.to[0], std::countl_zero(lane.get<T>(in.from[0])));
    return Next::kGoOn;
}
template <typename T>
Next count_ones(Lane& lane, const Instruction& in) {
    lane.set<std::int32_t>(in.to[0], std::popcount(lane.get<T>(in.from[0])));
    return Next::kGoOn;
}
template <typename T>
Next reverse_bits(Lane& lane, const Instruction& in) {
    T left = lane.get<T>(in.from[0]);
    T result = 0;
    for (unsigned k = 0; k < 8 * sizeof(T); ++k, left >>= 1) {
        result = static_cast<T>(result << 1 | (left & 1));
    }
    lane.set<T>(in.to[0], result);
    return Next::kGoOn;
}
// The upper word of two after a shift to the left: the first operand is the lower one.
Next shift_pair_left(Lane& lane, const Instruction& in) {
    const std::uint64_t pair = std::uint64_t{lane.get<std::uint32_t>(in.from[1])} << 32 |
                               lane.get<std::uint32_t>(in.from[0]);
    const auto shift = lane.get<std::uint32_t>(in.from[2]) & 31;
    lane.set<std::uint32_t>(in.to[0], static_cast<std::uint32_t>(pair << shift >> 32));
    return Next::kGoOn;
}
// The bits of the first, from a place on, and so many, in the second.
template <typename T>
Next insert_bits(Lane& lane, const Instruction& in) {
    const auto place = lane.get<std::uint32_t>(in.from[2]) & 0xff;
    const auto count = lane.get<std::uint32_t>(in.from[3]) & 0xff;
    const auto field = lane.get<T>(in.from[0]);
    T result = lane.get<T>(in.from[1]);
    for (unsigned k = 0; k < count && place + k < 8 * sizeof(T); ++k) {
        const T bit = T(1) << (place + k);
        result = (field >> k & 1) != 0 ? result | bit : result & ~bit;
    }
    lane.set<T>(in.to[0], result);
    return Next::kGoOn;
}

// ---- Comparisons ----

// False of NaN, as every comparison but those whose name ends in u.
struct IsUnequal {
    template <typename T>
    bool operator()(T a, T b) const {
        return a < b || a > b;
    }
};
struct AreNumbers {
    template <typename T>
    bool operator()(T a, T b) const {
        return a == a && b == b;
    }
};
template <typename Op>
struct No {
    template <typename T>
    bool operator()(T a, T b) const {
        return !Op{}(a, b);
    }
};

template <typename Op, typename T>
Next compare(Lane& lane, const Instruction& in) {
    lane.set<std::uint8_t>(in.to[0], Op{}(lane.get<T>(in.from[0]), lane.get<T>(in.from[1])));
    return Next::kGoOn;
}
template <typename Op>
Execute comparison_of(Type type) {
    return with_number(type,
                       [](auto t) -> Execute { return compare<Op, typename decltype(t)::type>; });
}
Execute comparison(const std::string& name, Type type) {
    const bool is_floating = type == Type::kF32 || type == Type::kF64;
    if (name == "eq") return comparison_of<std::equal_to<>>(type);
    if (name == "ne") return comparison_of<IsUnequal>(type);
    if (name == "lt" || (name == "lo" && !is_floating)) return comparison_of<std::less<>>(type);
    if (name == "le" || (name == "ls" && !is_floating))
        return comparison_of<std::less_equal<>>(type);
    if (name == "gt" || (name == "hi" && !is_floating)) return comparison_of<std::greater<>>(type);
    if (name == "ge" || (name == "hs" && !is_floating))
        return comparison_of<std::greater_equal<>>(type);
    if (!is_floating) return nullptr;
    if (name == "neu") return comparison_of<No<std::equal_to<>>>(type);
    if (name == "equ") return comparison_of<No<IsUnequal>>(type);
    if (name == "ltu") return comparison_of<No<std::greater_equal<>>>(type);
    if (name == "leu") return comparison_of<No<std::greater<>>>(type);
    if (name == "gtu") return comparison_of<No<std::less_equal<>>>(type);
    if (name == "geu") return comparison_of<No<std::less<>>>(type);
    if (name == "num") return comparison_of<AreNumbers>(type);
    if (name == "nan") return comparison_of<No<AreNumbers>>(type);
    return nullptr;
}

// ---- Memory ----

// Space of an address, and the address in it.
std::uint64_t address_of(const Lane& lane, const Instruction& in) {
    std::uint64_t address = lane.registers[in.from[0]] + static_cast<std::uint64_t>(in.offset);
    if (in.space == Space::kShared) address = (address & 0xffffffff) + kSharedWindow;
    if (in.space == Space::kParam) address += kParamWindow;
    return address;
}
template <typename T>
Next load(Lane& lane, const Instruction& in) {
    const char* from =
        machine.reach(lane, in, address_of(lane, in), sizeof(T) * in.width, Access::kRead);
    for (int k = 0; k < in.width; ++k) {
        T value{};
        if (from) std::memcpy(&value, from + k * sizeof(T), sizeof(T));
        lane.set<T>(in.to[k], value);
    }
    return Next::kGoOn;
}
template <typename T>
Next store(Lane& lane, const Instruction& in) {
    char* to = machine.reach(lane, in, address_of(lane, in), sizeof(T) * in.width, Access::kWrite);
    for (int k = 0; to && k < in.width; ++k) {
        const T value = lane.get<T>(in.to[k]);
        std::memcpy(to + k * sizeof(T), &value, sizeof(T));
    }
    return Next::kGoOn;
}
template <typename Op, typename T>
Next change(Lane& lane, const Instruction& in) {
    char* at = machine.reach(lane, in, address_of(lane, in), sizeof(T), Access::kAtomic);
    T before{};
    if (at) std::memcpy(&before, at, sizeof(T));
    const T after = Op{}(before, lane.get<T>(in.from[1]));
    if (at) std::memcpy(at, &after, sizeof(T));
    lane.set<T>(in.to[0], before);
    return Next::kGoOn;
}
template <std::int64_t kBy>
Next move_window(Lane& lane, const Instruction& in) {
    lane.registers[in.to[0]] = lane.registers[in.from[0]] + static_cast<std::uint64_t>(kBy);
    return Next::kGoOn;
}

// ---- Several registers as one ----

template <typename Part>
Next pack(Lane& lane, const Instruction& in) {
    std::uint64_t all = 0;
    for (int k = 0; k < in.width; ++k) {
        all |= std::uint64_t{lane.get<Part>(in.from[k])} << (8 * sizeof(Part) * k);
    }
    lane.registers[in.to[0]] = all;
    return Next::kGoOn;
}
template <typename Part>
Next unpack(Lane& lane, const Instruction& in) {
    const std::uint64_t all = lane.registers[in.from[0]];
    for (int k = 0; k < in.width; ++k) {
        lane.set<Part>(in.to[k], static_cast<Part>(all >> (8 * sizeof(Part) * k)));
    }
    return Next::kGoOn;
}

// ---- The way through the program, and together ----

Next branch(Lane& lane, const Instruction& in) {
    lane.at = in.target;
    return Next::kGoOn;
}
Next end(Lane&, const Instruction&) { return Next::kEnd; }
Next wait_for_warp(Lane&, const Instruction&) { return Next::kWaitForWarp; }
Next wait_for_block(Lane&, const Instruction&) { return Next::kWaitForBlock; }

template <typename Op, int kOperands>
Shape numbers(Opcode& opcode, Instruction& into) {
    const bool is_rounded = opcode.take("rn");
    const Type type = opcode.take_type();
    const bool is_floating = type == Type::kF32 || type == Type::kF64;
    if (is_floating || !is_rounded) {
        into.execute = with_number(type, [](auto t) -> Execute {
            return compute<Op, typename decltype(t)::type, kOperands>;
        });
    }
    return {1, kOperands};
}
template <typename Op, int kOperands>
Shape floats(Opcode& opcode, Instruction& into) {
    opcode.take("rn");
    const Type type = opcode.take_type();
    if (type == Type::kF32) into.execute = compute<Op, float, kOperands>;
    if (type == Type::kF64) into.execute = compute<Op, double, kOperands>;
    return {1, kOperands};
}
template <typename Op, int kOperands>
Shape integers(Opcode& opcode, Instruction& into) {
    into.execute = with_integer(opcode.take_type(), [](auto t) -> Execute {
        return compute<Op, typename decltype(t)::type, kOperands>;
    });
    return {1, kOperands};
}
template <typename Op>
Shape bits(Opcode& opcode, Instruction& into) {
    into.execute = with_bits(opcode.take_type(), [](auto t) -> Execute {
        return compute<Op, typename decltype(t)::type, 2>;
    });
    return {1, 2};
}

Shape multiply(Opcode& opcode, Instruction& into, bool adds) {
    const Shape shape{1, adds ? 3 : 2};
    const std::string half = opcode.take_one_of({"lo", "hi", "wide"});
    if (half == "wide") {
        const Type type = opcode.take_type();
        using I = std::int32_t;
        using U = std::uint32_t;
        if (type == Type::kS32) {
            into.execute =
                adds ? multiply_wide<I, std::int64_t, true> : multiply_wide<I, std::int64_t, false>;
        } else if (type == Type::kU32) {
            into.execute = adds ? multiply_wide<U, std::uint64_t, true>
                                : multiply_wide<U, std::uint64_t, false>;
        }
        return shape;
    }
    if (half == "hi") return adds ? shape : integers<MultiplyHigh, 2>(opcode, into);
    if (half == "lo") {
        return adds ? integers<MultiplyAdd, 3>(opcode, into) : integers<Multiply, 2>(opcode, into);
    }
    return adds ? shape : floats<Multiply, 2>(opcode, into);
}

Shape conversion(Opcode& opcode, Instruction& into) {
    const std::string rounding = opcode.take_one_of({"rn", "rzi"});
    const Type to = opcode.take_type();
    const Type from = opcode.take_type();
    const bool is_truncated = rounding == "rzi";
    into.execute = with_number(from, [&](auto source) -> Execute {
        using From = typename decltype(source)::type;
        return with_number(to, [&](auto target) -> Execute {
            using To = typename decltype(target)::type;
            constexpr bool kToInteger = std::is_floating_point_v<From> && std::is_integral_v<To>;
            if (kToInteger != is_truncated) return nullptr;
            if constexpr (kToInteger)
                return truncate<From, To>;
            else
                return convert<From, To>;
        });
    });
    return {1, 1};
}

Space take_space(Opcode& opcode) {
    if (opcode.take("global")) return Space::kGlobal;
    if (opcode.take("shared")) return Space::kShared;
    return opcode.take("param") ? Space::kParam : Space::kGeneric;
}

Shape memory(Opcode& opcode, Instruction& into, bool is_load) {
    into.space = take_space(opcode);
    if (is_load) opcode.take("nc");
    const std::string width = opcode.take_one_of({"v2", "v4"});
    into.width = width.empty() ? 1 : static_cast<std::uint8_t>(width[1] - '0');
    into.execute = with_number(opcode.take_type(), [&](auto t) -> Execute {
        using T = typename decltype(t)::type;
        return is_load ? load<T> : store<T>;
    });
    return {into.width, 1, true};
}

Shape atomic(Opcode& opcode, Instruction& into) {
    into.space = take_space(opcode);
    if (into.space == Space::kParam) return {1, 2, true};  // read only
    const std::string what = opcode.take_one_of({"max", "min", "add"});
    into.execute = with_integer(opcode.take_type(), [&](auto t) -> Execute {
        using T = typename decltype(t)::type;
        if (what == "max") return change<Larger, T>;
        if (what == "min") return change<Smaller, T>;
        return what == "add" ? change<Add, T> : nullptr;
    });
    return {1, 2, true};
}

Shape address(Opcode& opcode, Instruction& into) {
    const bool is_back = opcode.take("to");
    const std::string space = opcode.take_one_of({"global", "shared", "param"});
    if (opcode.take_type() != Type::kU64) return {1, 1};
    constexpr auto kShared = static_cast<std::int64_t>(kSharedWindow);
    constexpr auto kParam = static_cast<std::int64_t>(kParamWindow);
    if (space == "global") into.execute = move_window<0>;
    if (space == "shared") into.execute = is_back ? move_window<-kShared> : move_window<kShared>;
    if (space == "param") into.execute = is_back ? move_window<-kParam> : move_window<kParam>;
    return {1, 1};
}

Shape together(Opcode& opcode, Instruction& into) {
    if (opcode.base() == "bar" && opcode.take("warp") && opcode.take("sync")) {
        into.execute = wait_for_warp;
        return {0, 1};
    }
    if (opcode.base() == "bar" && opcode.take("sync")) {
        into.execute = wait_for_block;
        return {0, 1};
    }
    if (!opcode.take("sync")) return {0, 0};
    into.execute = wait_for_warp;
    if (opcode.base() == "vote") {
        const std::string what = opcode.take_one_of({"ballot", "any", "all"});
        into.collective = what == "ballot" ? Collective::kBallot
                          : what == "any"  ? Collective::kAny
                                           : Collective::kAll;
        opcode.take_type();
        return {1, 2};
    }
    const bool is_relative = opcode.take_one_of({"bfly", "idx"}) == "bfly";
    into.collective = is_relative ? Collective::kButterfly : Collective::kBroadcast;
    if (opcode.take_type() != Type::kU32) into.execute = nullptr;
    return {2, 4};
}

Shape decode_parts(Opcode& opcode, Instruction& into) {
    const std::string& base = opcode.base();
    if (base == "add") return numbers<Add, 2>(opcode, into);
    if (base == "sub") return numbers<Subtract, 2>(opcode, into);
    if (base == "mul") return multiply(opcode, into, false);
    if (base == "mad") return multiply(opcode, into, true);
    if (base == "fma") return floats<FusedMultiplyAdd, 3>(opcode, into);
    if (base == "div") return numbers<Divide, 2>(opcode, into);
    if (base == "rem") return integers<Remainder, 2>(opcode, into);
    if (base == "min") return numbers<Smaller, 2>(opcode, into);
    if (base == "max") return numbers<Larger, 2>(opcode, into);
    if (base == "neg") return numbers<Negate, 1>(opcode, into);
    if (base == "abs") return numbers<Absolute, 1>(opcode, into);
    if (base == "sqrt") return floats<Root, 1>(opcode, into);
    if (base == "and") return bits<std::bit_and<>>(opcode, into);
    if (base == "or") return bits<std::bit_or<>>(opcode, into);
    if (base == "xor") return bits<std::bit_xor<>>(opcode, into);
    if (base == "cvt") return conversion(opcode, into);
    if (base == "cvta") return address(opcode, into);
    if (base == "ld") return memory(opcode, into, true);
    if (base == "st") return memory(opcode, into, false);
    if (base == "atom") return atomic(opcode, into);
    if (base == "bar" || base == "vote" || base == "shfl") return together(opcode, into);
    if (base == "not") {
        const Type type = opcode.take_type();
        into.execute =
            type == Type::kPred ? invert_predicate : with_integer(type, [](auto t) -> Execute {
                return invert<typename decltype(t)::type>;
            });
        return {1, 1};
    }
    if (base == "mov") {
        const Type type = opcode.take_type();
        into.execute = type == Type::kPred
                           ? compute<std::identity, std::uint8_t, 1>
                           : with_number(type, [](auto t) -> Execute {
                                 return compute<std::identity, typename decltype(t)::type, 1>;
                             });
        return {1, 1};
    }
    if (base == "shl" || base == "shr") {
        const bool is_left = base == "shl";
        into.execute = with_integer(opcode.take_type(), [&](auto t) -> Execute {
            using T = typename decltype(t)::type;
            return is_left ? shift_left<T> : shift_right<T>;
        });
        return {1, 2};
    }
    if (base == "shf" && opcode.take("l") && opcode.take("wrap")) {
        opcode.take_type();
        into.execute = shift_pair_left;
        return {1, 3};
    }
    if (base == "setp") {
        const std::string name =
            opcode.take_one_of({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ",
                                "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
        into.execute = comparison(name, opcode.take_type());
        return {1, 2};
    }
    if (base == "selp") {
        into.execute = with_number(opcode.take_type(), [](auto t) -> Execute {
            return choose<typename decltype(t)::type>;
        });
        return {1, 3};
    }
    if (base == "clz" || base == "popc" || base == "brev") {
        const Type type = opcode.take_type();
        const bool is_wide = type == Type::kU64;
        using U = std::uint32_t;
        using W = std::uint64_t;
        if (base == "clz") into.execute = is_wide ? count_leading_zeros<W> : count_leading_zeros<U>;
        if (base == "popc") into.execute = is_wide ? count_ones<W> : count_ones<U>;
        if (base == "brev") into.execute = is_wide ? reverse_bits<W> : reverse_bits<U>;
        return {1, 1};
    }
    if (base == "bfi") {
        into.execute = opcode.take_type() == Type::kU64 ? insert_bits<std::uint64_t>
                                                        : insert_bits<std::uint32_t>;
        return {1, 4};
    }
    if (base == "bra") {
        opcode.take("uni");
        into.execute = branch;
        return {0, 1};
    }
    if (base == "ret" || base == "exit") into.execute = end;
    return {0, 0};
}

}  // namespace

int bytes_of(Type type) {
    const auto is_it = [type](const Named& each) { return each.type == type; };
    const auto* at = std::find_if(std::begin(kTypes), std::end(kTypes), is_it);
    return at == std::end(kTypes) ? 0 : at->bytes;
}

Opcode::Opcode(const std::string& text) : text_(text) {
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, '.');) parts_.push_back(part);
}
bool Opcode::take(const std::string& part) {
    const auto at = std::find(parts_.begin() + 1, parts_.end(), part);
    if (at == parts_.end()) return false;
    parts_.erase(at);
    return true;
}
std::string Opcode::take_one_of(const std::vector<std::string>& parts) {
    for (const auto& part : parts) {
        if (take(part)) return part;
    }
    return "";
}
Type Opcode::take_type() {
    for (std::size_t k = 1; k < parts_.size(); ++k) {
        for (const auto& [name, type, bytes] : kTypes) {
            if (parts_[k] != name) continue;
            parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(k));
            return type;
        }
    }
    die("an instruction without a type: " + text_);
}
void Opcode::finish() const {
    if (parts_.size() > 1) die("what ." + parts_[1] + " means is not known: " + text_);
}

Shape decode(Opcode opcode, Instruction& into) {
    const Shape shape = decode_parts(opcode, into);
    opcode.finish();
    if (!into.execute) die("an instruction that is not known: " + into.opcode);
    return shape;
}

Execute packing(bool packs, Type whole, int parts) {
    const int bytes = bytes_of(whole) / parts;
    if (bytes == 4) return packs ? pack<std::uint32_t> : unpack<std::uint32_t>;
    if (bytes == 2) return packs ? pack<std::uint16_t> : unpack<std::uint16_t>;
    die("parts of a register that are not known");
}

}  // namespace ptx
