// The parser of MLIR text, in parts: text_types.cc, text_attributes.cc, text_dense.cc, text_sdy.cc, text_operations.cc
// and pretty_forms.cc.
#ifndef KILN_FRONTEND_MLIR_TEXT_PARSER_H_
#define KILN_FRONTEND_MLIR_TEXT_PARSER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "src/base/status.h"
#include "src/frontend/hlo_text/lexer.h"
#include "src/frontend/mlir/context.h"
#include "src/frontend/mlir/vhlo_ops.h"

namespace kiln::mlir {

// After the first failure every function gives the context's none type, unit attribute or unknown location (never
// null), and the text is at its end, so that loops end.
class TextParser {
 public:
  // `text` lives as long as `context`.
  TextParser(Context& context, absl::string_view text, absl::string_view file_name);

  // The whole text; null after a failure, which status() tells.
  Operation* ReadModule();
  const absl::Status& status() const { return status_; }

  // --- The cursor.
  bool ok() const { return status_.ok(); }
  void Fail(absl::string_view message);  // At the next piece.
  void FailAt(size_t offset, absl::string_view message);
  void FailExpected(absl::string_view what);
  char Peek() { return lexer_.Peek(); }
  bool Next(absl::string_view piece) { return lexer_.Consume(piece); }
  // Takes `word` when no letter, digit or "_$." follows it.
  bool NextWord(absl::string_view word);
  void Expect(absl::string_view piece);
  // A name: letters, digits and "_$.", or a quoted string where `quoted` says so.
  absl::string_view Word(absl::string_view what, bool quoted = false);
  absl::string_view PeekWord();
  absl::string_view String();
  int64_t Integer(absl::string_view what);
  // The text up to the bracket that closes an open '<', '(', '[' or '{' (already taken), which is taken too.
  absl::string_view Balanced();
  size_t offset() { return lexer_.offset(); }
  void Rewind(size_t offset) {
    if (ok()) lexer_.Rewind(offset);
  }
  absl::string_view ValueName() { return lexer_.Run("_$.-"); }  // After '%'.
  // Calls `read` for each element of a comma-separated list up to `close`, which is taken.
  template <typename Read>
  void List(absl::string_view close, Read read) {
    if (Next(close)) return;
    do {
      read();
    } while (ok() && Next(","));
    Expect(close);
  }

  // --- Types and attributes.
  Context& context() { return context_; }
  TypeRef ReadType();
  AttributeRef ReadAttribute();
  std::vector<TypeRef> Types();              // T, T, ... without brackets
  std::vector<TypeRef> ResultTypes();        // T or (T, ...)
  AttributeRef Integers();                   // [1, 2] as array<i64>
  std::vector<NamedAttribute> Dictionary();  // After '{'; sorted.
  SymbolAttribute Symbol();                  // @name::@nested
  const Location* ReadLocation();            // loc(...)
  const Location* OptionalLocation();        // Null when none follows.
  AttributeRef Enum(absl::string_view name, absl::string_view value) {
    return context_.MakeAttribute(EnumAttribute{name, value});
  }
  AttributeRef Text(absl::string_view value) { return context_.MakeAttribute(StringAttribute{value}); }
  AttributeRef ReadConvolutionDimensions();               // [b, 0, f]x[0, i, o]->[b, 0, f], as a struct of flat fields
  AttributeRef ReadSdyAttribute(absl::string_view name);  // After '<', up to and with '>'.
  AttributeRef SdyShardings();                            // [<@mesh, [...]>, ...]
  AttributeRef SdyAxes();                                 // {"x", "y":(1)2}
  AttributeRef SdyManualAxes(absl::string_view close);    // "x", "y" up to `close`, which is taken

  // --- Operations.
  Value* Operand();
  std::vector<Value*> Operands(absl::string_view close);  // %a, %b up to `close`, which is taken
  bool AtOperand() { return Peek() == '%'; }
  // Adds attributes to `operation`: structured forms as their flat fields; names that the op does not define are
  // discardable unless `inherent`.
  void AddAttributes(Operation* operation, const std::vector<NamedAttribute>& entries, bool inherent = false);
  void OptionalDictionary(Operation* operation);  // {...} and <{...}>, either may be missing
  // The types of the op's operands and results, checked: "(T, ...) -> T".
  void FunctionalTypes(Operation* operation);
  void SetResultTypes(Operation* operation, const std::vector<TypeRef>& types);
  // "{ ... }". Block arguments that stand in the op's header are passed as names, types and locations.
  struct Argument {
    absl::string_view name;
    TypeRef type = nullptr;
    size_t offset = 0;
  };
  Argument ReadArgument();  // %name: type loc(...)
  Region* ReadRegion(Operation* owner, const std::vector<Argument>& arguments, bool isolated = false);
  // A region of one block without names.
  Region* MakeRegion(Operation* owner, const std::vector<TypeRef>& argument_types);
  Operation* MakeOperation(Region* parent, absl::string_view name);
  void Finish(Operation* operation);  // Sorts attributes, splits off the discardable ones.

 private:
  struct Alias {
    size_t begin = 0;  // Of its value.
    size_t end = 0;
    uint64_t weight = 0;
    bool reading = false;
    const void* node = nullptr;  // A Type for "!name", else an Attribute.
  };
  struct Named {
    std::vector<Value*> values;
    size_t scope = 0;
  };

  // For the time of one type or attribute.
  class Guard {
   public:
    explicit Guard(TextParser& parser) : parser_(parser) {
      constexpr int kMaxDepth = 600;
      if (++parser_.depth_ > kMaxDepth) parser_.Fail("types, attributes and locations nest too deep");
      parser_.AddWeight(1);
    }
    ~Guard() { --parser_.depth_; }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    TextParser& parser_;
  };

  // Counts nodes with aliases expanded: aliases of aliases may stand for a tree of any size.
  void AddWeight(uint64_t nodes);
  void FindAliases();
  void ReadResources(size_t offset);
  const void* ResolveAlias(absl::string_view name);  // With its '#' or '!'; null when there is none of that name.
  TypeRef ReadTypeUnguarded();
  TypeRef ReadTensor();
  TypeRef ReadQuantized();
  std::vector<int64_t> Dims();
  AttributeRef ReadAttributeUnguarded();
  AttributeRef ReadNumber();
  AttributeRef ReadDialectAttribute();
  AttributeRef ReadStruct(absl::string_view name);
  AttributeRef ReadDense();
  AttributeRef ReadDenseResource();
  AttributeRef ReadDenseArray();
  void ReadElements(const std::vector<int64_t>& dims, size_t dim, const Type& element, std::string& data);
  void ReadElement(const Type& element, std::string& data);
  AttributeRef StringElements(TypeRef type);
  std::string HexBytes(absl::string_view digits);
  uint64_t FloatBits(FloatKind kind, absl::string_view token);
  uint64_t IntegerBits(const Type& type, absl::string_view token);
  Location ReadLocationBody();
  AttributeRef ReadAxisRef();
  AttributeRef ReadSubAxis(absl::string_view name);  // (2)4
  AttributeRef ReadSharding();

  // Of an offset that is not before the last one asked for.
  int64_t LineOf(size_t offset);
  void ReadOperation(Region* region, Block* block);
  void ReadGeneric(Operation* operation);
  void ReadModuleOp(Operation* operation);
  void ReadFunction(Operation* operation);
  void ReadBlocks(Region* region);
  void Define(absl::string_view name, std::vector<Value*> values, size_t offset);
  void SkipAliasDefinition();

  Context& context_;
  absl::string_view text_;  // Without the resources.
  absl::string_view file_name_;
  hlo_text::Lexer lexer_;
  size_t counted_to_ = 0;  // For LineOf.
  int64_t counted_lines_ = 1;
  absl::Status status_;
  int depth_ = 0;
  uint64_t weight_ = 0;
  absl::flat_hash_map<absl::string_view, Alias> aliases_;
  absl::flat_hash_map<absl::string_view, absl::string_view> resources_;
  absl::flat_hash_map<absl::string_view, const VhloOp*> rows_;  // By name in the tree: the newest.
  absl::flat_hash_map<absl::string_view, Named> values_;
  std::vector<absl::string_view> defined_;                 // In order, to leave scopes.
  absl::flat_hash_map<absl::string_view, Block*> blocks_;  // Of the region being read.
  int nesting_ = 0;
};

// Reads the rest of an op in its pretty form, after its name: operands, attributes, types, regions. False, with nothing
// taken, when the op has none.
bool ReadPrettyForm(TextParser& parser, Operation* operation);

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_TEXT_PARSER_H_
