// The effect of each instruction. A lane calls `Execute` if its guard is true.
#pragma once

#include <string>
#include <vector>

#include "machine.hpp"

namespace ptx {

// The parts of an opcode between its dots, and which of them have been understood.
class Opcode {
  public:
    explicit Opcode(const std::string& text);

    const std::string& base() const { return parts_[0]; }
    bool take(const std::string& part);                              // whether it was there
    std::string take_one_of(const std::vector<std::string>& parts);  // "" for none
    Type take_type();     // the next one; ends the program if there is none
    void finish() const;  // ends the program if something is left

  private:
    std::string text_;
    std::vector<std::string> parts_;
};

// Fills in the fields that follow from the opcode: how to execute it, memory space, width. The
// parser compares the returned numbers of results and operands with the text.
struct Shape {
    int results, operands;
    bool has_address = false;  // the last result of a store, the first operand of a load
};
Shape decode(Opcode opcode, Instruction& into);

// mov between a register and `parts` registers that make it up.
Execute packing(bool packs, Type whole, int parts);

int bytes_of(Type type);

}  // namespace ptx
