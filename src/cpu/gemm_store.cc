// From accumulators to memory: epilogue, conversion, stores of whole and cut vectors, partial sums.
#include <bit>

#include "src/base/status.h"
#include "src/cpu/gemm_emitter.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/llvm_loop.h"

namespace kiln::cpu {

GemmValue GemmEmitter::Slice(const GemmValue& value, int first, int lanes) {
  GemmValue slice;
  for (int part = 0; part < arithmetic_.parts(); ++part) {
    if (lanes == 1) {
      slice.part[part] = value.part[part]->getType()->isVectorTy()
                             ? b_.CreateExtractElement(value.part[part], static_cast<uint64_t>(first))
                             : value.part[part];
      continue;
    }
    std::vector<int> pick(lanes);
    for (int lane = 0; lane < lanes; ++lane) pick[lane] = first + lane;
    slice.part[part] = b_.CreateShuffleVector(value.part[part], pick);
  }
  return slice;
}

absl::StatusOr<GemmValue> GemmEmitter::FinishVector(const Tile& tile, int64_t row, int64_t column, int lanes,
                                                    const GemmValue& sum) {
  kernel::Value value = arithmetic_.ToResult(b_, spec_.result_type, sum);
  if (spec_.epilogue) {
    llvm::Value* m = b_.CreateAdd(tile.m, Int(row));
    llvm::Value* n = b_.CreateAdd(tile.n, Int(column));
    GemmEpilogueArguments arguments;
    arguments.builder = &b_;
    arguments.extra = tile.extra;
    arguments.batch_index = tile.batch;
    arguments.m_index = schedule_.swapped ? n : m;
    arguments.n_index = schedule_.swapped ? m : n;
    arguments.lanes_along_m = schedule_.swapped;
    arguments.lanes = lanes;
    KILN_ASSIGN_OR_RETURN(value, spec_.epilogue(arguments, value));
    if (value.type != problem_.out_type || value.value == nullptr) {
      return Internal("The epilogue of a matrix product gives ", PrimitiveTypeName(value.type), " where ",
                      PrimitiveTypeName(problem_.out_type), " is stored.");
    }
  }
  GemmValue stored;
  stored.part[0] = GemmArithmetic::ToStored(b_, problem_.out_type, value.value);
  if (hlo::IsComplex(problem_.out_type)) {
    stored.part[1] = GemmArithmetic::ToStored(b_, problem_.out_type, value.imaginary);
  }
  return stored;
}

llvm::Value* GemmEmitter::OutPointer(const Tile& tile, int64_t row, int64_t column) {
  const int64_t element = StoredElement(problem_.out_type);
  llvm::Value* corner =
      At(tile.out, b_.CreateAdd(Scale(tile.m, problem_.out_m), Scale(tile.n, problem_.out_n)), element);
  return At(corner, (row * problem_.out_m + column * problem_.out_n) * element);
}

absl::Status GemmEmitter::EmitStore(const Tile& tile, int64_t row, int64_t column, int lanes, const GemmValue& sum) {
  KILN_ASSIGN_OR_RETURN(GemmValue stored, FinishVector(tile, row, column, lanes, sum));
  const int bytes = GemmArithmetic::StoredBytes(problem_.out_type);
  const bool complex = hlo::IsComplex(problem_.out_type);
  const int64_t element = StoredElement(problem_.out_type);
  llvm::Value* pointer = OutPointer(tile, row, column);
  if (problem_.out_n == 1 && lanes > 1) {
    if (complex) {
      std::vector<int> weave;
      for (int lane = 0; lane < lanes; ++lane) weave.insert(weave.end(), {lane, lanes + lane});
      stored.part[0] = b_.CreateShuffleVector(stored.part[0], stored.part[1], weave);
    }
    b_.CreateAlignedStore(stored.part[0], pointer, llvm::Align(bytes));
    return absl::OkStatus();
  }
  for (int part = 0; part < (complex ? 2 : 1); ++part) {
    if (Host().masked_moves && bytes >= 4 && lanes >= 4) {
      StoreScattered(At(pointer, part * bytes), problem_.out_n * element, stored.part[part], bytes);
      continue;
    }
    for (int lane = 0; lane < lanes; ++lane) {
      llvm::Value* scalar =
          lanes == 1 ? stored.part[part] : b_.CreateExtractElement(stored.part[part], static_cast<uint64_t>(lane));
      b_.CreateAlignedStore(scalar, At(pointer, lane * problem_.out_n * element + part * bytes), llvm::Align(bytes));
    }
  }
  return absl::OkStatus();
}

void GemmEmitter::StoreTransposed(const Tile& tile, int64_t column, const std::vector<llvm::Value*>& rows) {
  std::vector<llvm::Value*> group = rows;
  TransposeInGroups(b_, group, schedule_.lanes);
  const int count = static_cast<int>(rows.size());
  for (int lane = 0; lane < schedule_.lanes; ++lane) {
    const int start = lane / count * count;
    llvm::Value* piece = b_.CreateShuffleVector(group[lane % count], {start, start + 1, start + 2, start + 3});
    b_.CreateAlignedStore(piece, OutPointer(tile, 0, column + lane), llvm::Align(4));
  }
}

void GemmEmitter::StoreScattered(llvm::Value* pointer, int64_t stride_bytes, llvm::Value* value, int bytes) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
  std::vector<llvm::Constant*> offsets;
  for (unsigned lane = 0; lane < lanes; ++lane) offsets.push_back(b_.getInt64(lane * stride_bytes));
  llvm::Value* pointers = b_.CreateGEP(b_.getInt8Ty(), pointer, llvm::ConstantVector::get(offsets));
  b_.CreateMaskedScatter(value, pointers, llvm::Align(bytes));
}

absl::Status GemmEmitter::EmitRowStores(const Tile& tile, int64_t row, int64_t first_column, int64_t columns,
                                        const GemmValue* sums) {
  const int lanes = schedule_.lanes;
  for (int64_t column = first_column; column < columns; column += lanes) {
    const GemmValue& sum = *sums++;
    int left = static_cast<int>(std::min<int64_t>(lanes, columns - column));
    if (left == lanes) {
      KILN_RETURN_IF_ERROR(EmitStore(tile, row, column, lanes, sum));
      continue;
    }
    if (!spec_.epilogue && Host().masked_moves && arithmetic_.parts() == 1 && problem_.out_n == 1 &&
        GemmArithmetic::StoredBytes(problem_.out_type) >= 4) {
      llvm::Value* pointer = OutPointer(tile, row, column);
      const kernel::Value value = arithmetic_.ToResult(b_, spec_.result_type, sum);
      b_.CreateMaskedStore(GemmArithmetic::ToStored(b_, problem_.out_type, value.value), pointer,
                           llvm::Align(StoredElement(problem_.out_type)), LaneMask(lanes, left));
      continue;
    }
    // A cut vector goes out in pieces of powers of two, so that epilogues only ever see elements that exist.
    for (int first = 0; left > 0;) {
      const int piece = static_cast<int>(std::bit_floor(static_cast<unsigned>(left)));
      KILN_RETURN_IF_ERROR(EmitStore(tile, row, column + first, piece, Slice(sum, first, piece)));
      first += piece;
      left -= piece;
    }
  }
  return absl::OkStatus();
}

absl::Status GemmEmitter::EmitStores(const Tile& tile, int64_t rows, int64_t columns, const Sums& sums) {
  constexpr int64_t kGroup = 4;
  const int lanes = schedule_.lanes;
  const int64_t vectors = VectorsOf(columns);
  // Rows that are neighbours in memory, columns that are not.
  const bool transpose = problem_.out_m == 1 && problem_.out_n != 1 && rows >= kGroup && lanes % kGroup == 0 &&
                         arithmetic_.parts() == 1 && hlo::ByteWidth(problem_.out_type) == 4;
  if (!transpose && (!spec_.epilogue || rows < kGroup)) {
    for (int64_t row = 0; row < rows; ++row) {
      KILN_RETURN_IF_ERROR(EmitRowStores(tile, row, 0, columns, &sums[row * vectors]));
    }
    return absl::OkStatus();
  }
  // The sums go through memory, so that the code behind them is there once and not for every row.
  const int64_t vector_bytes = int64_t{lanes} * arithmetic_.part_bytes();
  const int64_t row_bytes = vectors * arithmetic_.parts() * vector_bytes;
  llvm::Value* memory = StackSlot(b_, llvm::ArrayType::get(b_.getInt8Ty(), rows * row_bytes), 64);
  Tile saved = tile;
  saved.partial = memory;
  Sums copy = sums;
  TransferPartial(saved, copy, /*load=*/false);
  absl::Status status;
  const int64_t whole = transpose ? columns / lanes : 0;
  EmitLoop(b_, Int(0), Int(rows), 1, "row", [&](llvm::Value* row) {
    Tile at = tile;
    at.m = b_.CreateAdd(tile.m, row);
    at.partial = At(memory, row, row_bytes);
    Sums loaded(vectors);
    TransferPartial(at, loaded, /*load=*/true);
    for (int64_t vector = 0; vector < whole; ++vector) {
      const auto value = FinishVector(at, 0, vector * lanes, lanes, loaded[vector]);
      status.Update(value.status());
      if (!value.ok()) return;
      b_.CreateAlignedStore(value->part[0], At(at.partial, vector * vector_bytes), llvm::Align(4));
    }
    status.Update(EmitRowStores(at, 0, whole * lanes, columns, loaded.data() + whole));
  });
  KILN_RETURN_IF_ERROR(status);
  for (int64_t vector = 0; vector < whole; ++vector) {
    EmitLoop(b_, Int(0), Int(rows), kGroup, "group", [&](llvm::Value* first) {
      // The last group reaches back over the one before and stores some of it again.
      llvm::Value* row =
          rows % kGroup == 0 ? first : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, first, Int(rows - kGroup));
      // From here on the tile begins at this row.
      Tile at = tile;
      at.out = Opaque(At(tile.out,
                         b_.CreateAdd(Scale(b_.CreateAdd(tile.m, row), problem_.out_m), Scale(tile.n, problem_.out_n)),
                         StoredElement(problem_.out_type)));
      at.m = at.n = Int(0);
      std::vector<llvm::Value*> group;
      for (int64_t i = 0; i < kGroup; ++i) {
        group.push_back(b_.CreateAlignedLoad(llvm::FixedVectorType::get(b_.getInt32Ty(), lanes),
                                             At(At(memory, row, row_bytes), i * row_bytes + vector * vector_bytes),
                                             llvm::Align(4)));
      }
      StoreTransposed(at, vector * lanes, group);
    });
  }
  return absl::OkStatus();
}

void GemmEmitter::TransferPartial(const Tile& tile, Sums& sums, bool load) {
  const int64_t vector_bytes = int64_t{schedule_.lanes} * arithmetic_.part_bytes();
  const llvm::Align align(std::min<int64_t>(vector_bytes, 64));
  int64_t offset = 0;
  for (GemmValue& sum : sums) {
    for (int part = 0; part < arithmetic_.parts(); ++part, offset += vector_bytes) {
      llvm::Value* pointer = At(tile.partial, offset);
      if (load) {
        sum.part[part] = b_.CreateAlignedLoad(arithmetic_.PartType(b_.getContext(), schedule_.lanes), pointer, align);
      } else {
        b_.CreateAlignedStore(sum.part[part], pointer, align);
      }
    }
  }
}

GemmEmitter::Sums GemmEmitter::StartSums(const Tile& tile, int64_t count) {
  const Sums zeros = ZeroSums(count);
  if (!InParts()) return zeros;
  // Later goes take up the sums that the one before left.
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock* entry = b_.GetInsertBlock();
  llvm::BasicBlock* resume = llvm::BasicBlock::Create(b_.getContext(), "resume", function);
  llvm::BasicBlock* start = llvm::BasicBlock::Create(b_.getContext(), "start", function);
  b_.CreateCondBr(tile.first, start, resume);
  b_.SetInsertPoint(resume);
  Sums partial = zeros;
  TransferPartial(tile, partial, /*load=*/true);
  b_.CreateBr(start);
  b_.SetInsertPoint(start);
  const Sums sums = PhisOf(zeros, entry);
  AddIncoming(sums, partial, resume);
  return sums;
}

absl::Status GemmEmitter::FinishSums(const Tile& tile, Sums sums, const std::function<absl::Status(Sums&)>& finish) {
  if (!InParts()) return finish(sums);
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock* last = llvm::BasicBlock::Create(b_.getContext(), "last", function);
  llvm::BasicBlock* leave = llvm::BasicBlock::Create(b_.getContext(), "leave", function);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(b_.getContext(), "done", function);
  b_.CreateCondBr(tile.last, last, leave);
  b_.SetInsertPoint(leave);
  TransferPartial(tile, sums, /*load=*/false);
  b_.CreateBr(done);
  b_.SetInsertPoint(last);
  KILN_RETURN_IF_ERROR(finish(sums));
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  return absl::OkStatus();
}

}  // namespace kiln::cpu
