// From the text of PTX to kernels.
#include <cctype>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "instructions.hpp"
#include "machine.hpp"

namespace ptx {
namespace {

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\n");
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

// Operands are separated by commas, but not those in braces or brackets; "a|b" are two results.
std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::string part;
    int depth = 0;
    for (const char c : text) {
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (depth == 0 && (c == ',' || c == '|')) {
            parts.push_back(trimmed(part));
            part.clear();
        } else {
            part += c;
        }
    }
    if (!trimmed(part).empty()) parts.push_back(trimmed(part));
    return parts;
}

std::uint64_t aligned(std::uint64_t at, std::uint64_t to) { return (at + to - 1) / to * to; }

struct SharedVariable {
    std::uint64_t align, bytes;  // 0 bytes: as many as the launch gives
};

class KernelParser {
  public:
    KernelParser(Kernel& kernel, const std::map<std::string, SharedVariable>& shared)
        : kernel_(kernel), shared_(shared), scopes_(1) {
        kernel_.registers.resize(kSpecials);
    }

    void parameter(const std::string& name, std::uint64_t align, std::uint64_t bytes) {
        const std::uint64_t at = aligned(kernel_.parameter_bytes, align);
        kernel_.parameters.push_back({at, bytes});
        kernel_.parameter_bytes = at + bytes;
        symbols_[name] = at;
    }
    void open() { scopes_.emplace_back(); }
    void close() { scopes_.pop_back(); }
    void label(const std::string& name) {
        labels_[name] = static_cast<std::uint32_t>(kernel_.code.size());
    }

    void statement(const std::string& text, int line) {
        if (text.rfind(".reg", 0) == 0) return declare(text);
        if (text.rfind(".pragma", 0) == 0) return;
        if (text[0] == '.') die("a directive that is not known: " + text);
        instruction(text, line);
    }
    void finish() {
        for (auto& [at, name] : branches_) {
            if (!labels_.count(name)) die("a branch to nowhere: " + name);
            kernel_.code[at].target = labels_[name];
        }
        const std::uint64_t dynamic = kSharedStart + aligned(kernel_.shared_bytes, 16);
        kernel_.shared_bytes = aligned(kernel_.shared_bytes, 16);
        for (const std::uint32_t at : dynamic_) kernel_.registers[at] = dynamic;
        Instruction last;  // the lane ends after the last instruction
        last.opcode = last.text = "ret";
        decode(Opcode("ret"), last);
        kernel_.code.push_back(last);
    }

  private:
    // Only names without a number need a scope of their own.
    void declare(const std::string& text) {
        const auto at = text.find('%');
        for (const auto& name : split(text.substr(at))) {
            if (name.find('<') == std::string::npos) scopes_.back()[name] = add(0);
        }
    }
    std::uint32_t add(std::uint64_t value) {
        kernel_.registers.push_back(value);
        return static_cast<std::uint32_t>(kernel_.registers.size() - 1);
    }
    std::uint32_t constant(std::uint64_t value) {
        const auto [at, is_new] = constants_.try_emplace(value, 0);
        if (is_new) at->second = add(value);
        return at->second;
    }

    std::uint32_t register_of(const std::string& name) {
        static const std::map<std::string, std::uint32_t> kNames = {
            {"%tid.x", kTid},      {"%ntid.x", kThreads},   {"%ctaid.x", kBlockX},
            {"%ctaid.y", kBlockY}, {"%nctaid.x", kBlocksX}, {"%nctaid.y", kBlocksY},
            {"_", kNothing}};
        if (const auto special = kNames.find(name); special != kNames.end()) return special->second;
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
            if (const auto at = scope->find(name); at != scope->end()) return at->second;
        }
        if (name.find('.') != std::string::npos) die("a register that is not known: " + name);
        return scopes_.front()[name] = add(0);
    }
    std::uint32_t symbol(const std::string& name) {
        if (const auto known = symbols_.find(name); known != symbols_.end())
            return constant(known->second);
        const auto found = shared_.find(name);
        if (found == shared_.end()) die("a name that is not known: " + name);
        if (found->second.bytes == 0) {
            if (!dynamic_symbols_.count(name)) {
                dynamic_symbols_[name] = add(0);
                dynamic_.push_back(dynamic_symbols_[name]);
            }
            return dynamic_symbols_[name];
        }
        const std::uint64_t at = aligned(kernel_.shared_bytes, found->second.align);
        kernel_.shared_bytes = at + found->second.bytes;
        return constant(symbols_[name] = kSharedStart + at);
    }
    std::uint32_t operand(const std::string& text) {
        if (text[0] == '%' || text == "_") return register_of(text);
        if (text.rfind("0f", 0) == 0 || text.rfind("0F", 0) == 0 || text.rfind("0d", 0) == 0 ||
            text.rfind("0D", 0) == 0) {
            return constant(std::strtoull(text.c_str() + 2, nullptr, 16));
        }
        if (std::isdigit(static_cast<unsigned char>(text[0])))
            return constant(std::strtoull(text.c_str(), nullptr, 0));
        if (text[0] == '-')
            return constant(static_cast<std::uint64_t>(std::strtoll(text.c_str(), nullptr, 0)));
        return symbol(text);
    }

    void instruction(const std::string& text, int line) {
        Instruction into;
        into.line = line;
        into.text = text;
        std::string rest = text;
        if (rest[0] == '@') {
            const auto space = rest.find_first_of(" \t");
            into.is_guard_negated = rest[1] == '!';
            into.guard = static_cast<int>(register_of(rest.substr(
                into.is_guard_negated ? 2 : 1, space - (into.is_guard_negated ? 2 : 1))));
            rest = trimmed(rest.substr(space));
        }
        const auto space = rest.find_first_of(" \t");
        into.opcode = rest.substr(0, space);
        const auto operands = split(space == std::string::npos ? "" : rest.substr(space));
        if (into.opcode.rfind("mov.", 0) == 0 && operands.size() == 2 &&
            (operands[0][0] == '{' || operands[1][0] == '{')) {
            move_parts(into, operands);
        } else {
            take(into, decode(Opcode(into.opcode), into), operands);
        }
        kernel_.code.push_back(into);
    }

    void take(Instruction& into, const Shape& shape, const std::vector<std::string>& operands) {
        if (into.opcode.rfind("bra", 0) == 0) {
            branches_.emplace_back(kernel_.code.size(), operands.at(0));
            return;
        }
        const bool is_store = into.opcode.rfind("st.", 0) == 0;
        if (shape.has_address) {
            std::size_t at = is_store ? 0 : 1;
            address(into, operands.at(at));
            parts(into.to, operands.at(1 - at),
                  is_store || into.opcode.rfind("ld", 0) == 0 ? into.width : 1);
            if (into.opcode.rfind("atom", 0) == 0) into.from[1] = operand(operands.at(2));
            return;
        }
        const auto count = static_cast<std::size_t>(shape.results + shape.operands);
        if (operands.size() != count) die("operands that are not known: " + into.text);
        for (std::size_t k = 0; k < count; ++k) {
            std::string name = operands[k];
            if (name[0] == '!' && into.opcode.rfind("vote", 0) == 0) {
                into.is_negated = true;
                name = name.substr(1);
            }
            if (k < static_cast<std::size_t>(shape.results))
                into.to[k] = operand(name);
            else
                into.from[k - static_cast<std::size_t>(shape.results)] = operand(name);
        }
    }

    void address(Instruction& into, const std::string& text) {
        if (text[0] != '[') die("an address that is not known: " + into.text);
        const std::string inside = trimmed(text.substr(1, text.size() - 2));
        const auto plus = inside.find('+');
        into.from[0] = operand(trimmed(inside.substr(0, plus)));
        if (plus != std::string::npos)
            into.offset = std::strtoll(inside.c_str() + plus + 1, nullptr, 0);
    }
    void parts(std::uint32_t (&into)[4], const std::string& text, int width) {
        const auto names = text[0] == '{' ? split(text.substr(1, text.size() - 2))
                                          : std::vector<std::string>{text};
        if (static_cast<int>(names.size()) != width || width > 4)
            die("a vector that is not known: " + text);
        for (std::size_t k = 0; k < names.size(); ++k) into[k] = operand(names[k]);
    }
    void move_parts(Instruction& into, const std::vector<std::string>& operands) {
        const bool packs = operands[1][0] == '{';
        const std::string& braces = operands[packs ? 1 : 0];
        into.width = static_cast<std::uint8_t>(split(braces.substr(1, braces.size() - 2)).size());
        parts(packs ? into.from : into.to, braces, into.width);
        (packs ? into.to : into.from)[0] = operand(operands[packs ? 0 : 1]);
        into.execute = packing(packs, Opcode(into.opcode).take_type(), into.width);
    }

    Kernel& kernel_;
    const std::map<std::string, SharedVariable>& shared_;
    std::vector<std::map<std::string, std::uint32_t>> scopes_;
    std::map<std::string, std::uint64_t> symbols_;
    std::map<std::string, std::uint32_t> dynamic_symbols_;
    std::vector<std::uint32_t> dynamic_;
    std::map<std::uint64_t, std::uint32_t> constants_;
    std::map<std::string, std::uint32_t> labels_;
    std::vector<std::pair<std::size_t, std::string>> branches_;
};

// ".param .align 8 .b8 name[176]", ".param .u64 name", ".shared .align 8 .b8 name[64]"
// Not a variable: kernels are registered before this file has its own.
const std::regex& variable() {
    static const std::regex pattern(
        R"(\.(?:param|shared)\s+(?:\.align\s+(\d+)\s+)?\.([a-z]\d+)\s+([\w$]+)(\[(\d*)\])?)");
    return pattern;
}

void begin(const std::string& header, Kernel& kernel, KernelParser& parser) {
    std::smatch found;
    if (!std::regex_search(header, found, std::regex(R"(\.entry\s+([\w$]+))")))
        die("a function that is no kernel: " + header);
    kernel.name = found[1];
    for (std::sregex_iterator at(header.begin(), header.end(), variable()), last; at != last;
         ++at) {
        const std::uint64_t each = std::stoull((*at)[2].str().substr(1)) / 8;
        const std::uint64_t bytes = (*at)[4].matched ? std::stoull((*at)[5]) * each : each;
        parser.parameter((*at)[3], (*at)[1].matched ? std::stoull((*at)[1]) : each, bytes);
    }
    if (std::regex_search(header, found, std::regex(R"(\.maxntid\s+(\d+))")))
        kernel.most_threads = static_cast<std::uint32_t>(std::stoul(found[1]));
}

}  // namespace

std::vector<std::unique_ptr<Kernel>> parse(const std::string& text) {
    static const std::regex kNoStatement(R"(^\s*\.(version|target|address_size)\b)");
    std::vector<std::unique_ptr<Kernel>> kernels;
    std::map<std::string, SharedVariable> shared;
    std::unique_ptr<KernelParser> parser;
    std::istringstream stream(text);
    std::string statement;
    int depth = 0;
    int number = 0;
    for (std::string line; std::getline(stream, line);) {
        ++number;
        line = line.substr(0, line.find("//"));
        if (depth == 0 && std::regex_search(line, kNoStatement)) continue;
        for (const char c : line + "\n") {
            const std::string so_far = trimmed(statement);
            const bool is_header = depth == 0 && so_far.find(".entry") != std::string::npos;
            if (c == '{' && (so_far.empty() || is_header)) {
                if (is_header) {
                    kernels.push_back(std::make_unique<Kernel>());
                    parser = std::make_unique<KernelParser>(*kernels.back(), shared);
                    begin(so_far, *kernels.back(), *parser);
                } else if (depth > 0) {
                    parser->open();
                } else {
                    die("a block outside of a kernel");
                }
                ++depth;
                statement.clear();
            } else if (c == '}' && so_far.empty()) {
                if (--depth == 0)
                    parser->finish();
                else
                    parser->close();
                statement.clear();
            } else if (c == ':' && depth > 0 && so_far[0] == '$') {
                parser->label(so_far);
                statement.clear();
            } else if (c == ';') {
                std::smatch found;
                if (depth > 0 && so_far.rfind(".shared", 0) != 0) {
                    parser->statement(so_far, number);
                } else if (std::regex_search(so_far, found, variable())) {
                    const std::uint64_t each = std::stoull(found[2].str().substr(1)) / 8;
                    const std::uint64_t count = found[5].length() > 0 ? std::stoull(found[5]) : 0;
                    shared[found[3]] = {found[1].matched ? std::stoull(found[1]) : each,
                                        count * each};
                } else {
                    die("a declaration that is not known: " + so_far);
                }
                statement.clear();
            } else {
                statement += c == '\n' ? ' ' : c;
            }
        }
    }
    return kernels;
}

}  // namespace ptx
