// Real numbers of a schedule. Two ways that give the same bits (tested): by values, in cache-sized blocks,
// when only the result or digests are wanted; by transfers, when somebody wants to see each of them.
#include <algorithm>
#include <cstring>
#include <map>

#include "sim/base/check.hpp"
#include "sim/collective/executor.hpp"
#include "sim/collective/executor_values.hpp"
#include "sim/tensor/reduce.hpp"

namespace ringside::sim {
namespace {

using Inputs = std::span<const std::shared_ptr<const Tensor>>;
using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

void check_inputs(const Schedule& schedule, Inputs inputs) {
  RINGSIDE_CHECK_EQ(inputs.size(), static_cast<std::size_t>(schedule.world_size));
  for (const auto& input : inputs) {
    RINGSIDE_CHECK(input != nullptr && input->dtype == inputs[0]->dtype);
    RINGSIDE_CHECK_EQ(input->count(), schedule.chunks.count);
  }
}

/// True if every chunk lands in its own place, so that each has a program of values.
bool keeps_places(const Schedule& schedule) {
  return std::all_of(schedule.transfers.begin(), schedule.transfers.end(),
                     [](const Transfer& t) { return t.chunk == t.to_chunk; });
}

class ByTransfers {
 public:
  ByTransfers(const Schedule& schedule, ReduceOp op, Inputs inputs, const TransferObserver& observer)
      : schedule_(schedule),
        op_(op),
        dtype_(inputs[0]->dtype),
        element_(size_of(dtype_)),
        observer_(observer),
        written_(inputs.size() * schedule.chunks.chunks.size(), 0) {
    for (const auto& input : inputs) {
      work_.push_back(std::make_shared<Tensor>(*input));
      if (reduces(schedule.collective)) prepare(dtype_, op_, schedule_.world_size, work_.back()->data);
    }
  }

  Numbers run() {
    const auto& transfers = schedule_.transfers;
    for (std::size_t begin = 0, end = 0; begin < transfers.size(); begin = end) {
      while (end < transfers.size() && transfers[end].step == transfers[begin].step) ++end;
      run_step(begin, end);
    }
    Numbers numbers;
    for (std::size_t r = 0; r < work_.size(); ++r) {
      finish_results(static_cast<int>(r));
      // Equal results are shared, as they are when nobody looks on.
      const auto same = std::find_if(numbers.result.begin(), numbers.result.end(),
                                     [&](const auto& other) { return other->data == work_[r]->data; });
      numbers.result.push_back(same != numbers.result.end() ? *same : work_[r]);
    }
    return numbers;
  }

 private:
  Bytes cell(std::int32_t rank, std::uint32_t chunk) {
    const Chunk& c = schedule_.chunks.chunks[chunk];
    return Bytes(work_[static_cast<std::size_t>(rank)]->data)
        .subspan(static_cast<std::size_t>(c.offset * element_), static_cast<std::size_t>(c.count * element_));
  }
  void finish_results(int rank) {
    if (!reduces(schedule_.collective) || !has_finish(dtype_, op_)) return;
    for (std::uint32_t c = 0; c < schedule_.chunks.chunks.size(); ++c) {
      if (schedule_.holds_result(rank, c)) finish(dtype_, op_, schedule_.world_size, cell(rank, c));
    }
  }
  std::uint32_t& written(std::int32_t rank, std::uint32_t chunk) {
    return written_[static_cast<std::size_t>(rank) * schedule_.chunks.chunks.size() + chunk];
  }

  /// Senders that are overwritten in the same step are read before it.
  void run_step(std::size_t begin, std::size_t end) {
    const std::uint32_t step = schedule_.transfers[begin].step;
    for (std::size_t t = begin; t < end; ++t)
      written(schedule_.transfers[t].dst, schedule_.transfers[t].to_chunk) = step;
    std::map<std::size_t, std::vector<std::byte>> saved;
    for (std::size_t t = begin; t < end; ++t) {
      const Transfer& transfer = schedule_.transfers[t];
      if (written(transfer.src, transfer.chunk) != step) continue;
      const Bytes data = cell(transfer.src, transfer.chunk);
      saved.emplace(t, std::vector<std::byte>(data.begin(), data.end()));
    }
    for (std::size_t t = begin; t < end; ++t) {
      const Transfer& transfer = schedule_.transfers[t];
      const auto at = saved.find(t);
      const ConstBytes arrived =
          at != saved.end() ? ConstBytes(at->second) : cell(transfer.src, transfer.chunk);
      run_transfer(t, arrived, cell(transfer.dst, transfer.to_chunk));
    }
  }

  void run_transfer(std::size_t t, ConstBytes arrived, Bytes own) {
    if (observer_) before_.assign(own.begin(), own.end());
    if (schedule_.transfers[t].action == Action::Reduce) {
      reduce_into(dtype_, op_, arrived, own);
    } else if (!own.empty()) {
      std::memcpy(own.data(), arrived.data(), own.size());
    }
    if (observer_) observer_(t, arrived, before_, own);
  }

  const Schedule& schedule_;
  ReduceOp op_;
  DType dtype_;
  std::int64_t element_;
  const TransferObserver& observer_;
  std::vector<std::shared_ptr<Tensor>> work_;
  std::vector<std::uint32_t> written_;  // per (rank, chunk): the last step that wrote it
  std::vector<std::byte> before_;
};

}  // namespace

Numbers execute_numbers(const Schedule& schedule, ReduceOp op, Inputs inputs,
                        const TransferObserver& observer) {
  check_inputs(schedule, inputs);
  if (observer || !keeps_places(schedule)) return ByTransfers(schedule, op, inputs, observer).run();
  return numbers_by_values(schedule, op, inputs, false);
}

Numbers execute_numbers_with_digests(const Schedule& schedule, ReduceOp op, Inputs inputs) {
  check_inputs(schedule, inputs);
  if (keeps_places(schedule)) return numbers_by_values(schedule, op, inputs, true);
  std::vector<std::uint64_t> digests(schedule.transfers.size());
  const DType dtype = inputs[0]->dtype;
  const TransferObserver observer = [&](std::size_t transfer, ConstBytes arrived, ConstBytes, ConstBytes) {
    digests[transfer] = digest_of(dtype, arrived);
  };
  Numbers numbers = ByTransfers(schedule, op, inputs, observer).run();
  numbers.digests = std::move(digests);
  return numbers;
}

Scalar element_after(const Schedule& schedule, ReduceOp op, Inputs inputs, int rank, std::int64_t element,
                     std::size_t transfers_done) {
  check_inputs(schedule, inputs);
  RINGSIDE_CHECK(0 <= rank && rank < schedule.world_size);
  const std::uint32_t chunk = schedule.chunks.chunk_of(element);
  const std::int64_t within = element - schedule.chunks.chunks[chunk].offset;
  const auto brought = [&](std::int32_t r, std::uint32_t c) {
    const std::int64_t at = schedule.chunks.chunks[c].offset + within;
    const Scalar input = inputs[static_cast<std::size_t>(r)]->at(at);
    return reduces(schedule.collective) ? prepare(op, schedule.world_size, input) : input;
  };
  if (schedule.collective ==
      Collective::AllToAll) {  // each place is written at most once, with what a rank brought along
    for (const std::uint32_t t : schedule.transfers_into(chunk)) {
      const Transfer& transfer = schedule.transfers[t];
      if (transfer.dst == rank && t < transfers_done) return brought(transfer.src, transfer.chunk);
    }
    return brought(rank, chunk);
  }
  std::vector<Scalar> held;
  for (std::int32_t r = 0; r < schedule.world_size; ++r) held.push_back(brought(r, chunk));
  std::vector<std::pair<std::int32_t, Scalar>> written;  // of this step: applied when all of it was read
  std::uint32_t step = 0;
  const auto apply = [&] {
    for (const auto& [r, value] : written) held[static_cast<std::size_t>(r)] = value;
    written.clear();
  };
  for (const std::uint32_t t : schedule.transfers_into(chunk)) {
    if (t >= transfers_done) break;
    const Transfer& transfer = schedule.transfers[t];
    if (transfer.step != step) apply();
    step = transfer.step;
    const Scalar arrived = held[static_cast<std::size_t>(transfer.src)];
    const Scalar own = held[static_cast<std::size_t>(transfer.dst)];
    written.emplace_back(transfer.dst,
                         transfer.action == Action::Reduce ? reduce(op, arrived, own) : arrived);
  }
  apply();
  return held[static_cast<std::size_t>(rank)];
}

}  // namespace ringside::sim
