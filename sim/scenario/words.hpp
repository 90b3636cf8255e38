// The words of scenario files that have no parser of their own elsewhere, one table for each: reading,
// writing and error messages use the same.
#pragma once

#include "sim/scenario/scenario.hpp"
#include "sim/scenario/table_reader.hpp"

namespace ringside::sim {

inline constexpr Word<DType> kDTypeWords[] = {{"float64", DType::Float64}, {"float32", DType::Float32},
                                              {"float16", DType::Float16}, {"bfloat16", DType::BFloat16},
                                              {"int32", DType::Int32},     {"int64", DType::Int64}};
inline constexpr Word<ReduceOp> kOpWords[] = {
    {"sum", ReduceOp::Sum},   {"avg", ReduceOp::Avg}, {"sum_then_divide", ReduceOp::SumThenDivide},
    {"prod", ReduceOp::Prod}, {"min", ReduceOp::Min}, {"max", ReduceOp::Max}};
inline constexpr Word<Collective> kCollectiveWords[] = {
    {"all_reduce", Collective::AllReduce}, {"reduce_scatter", Collective::ReduceScatter},
    {"all_gather", Collective::AllGather}, {"broadcast", Collective::Broadcast},
    {"reduce", Collective::Reduce},        {"all_to_all", Collective::AllToAll}};
inline constexpr Word<Algorithm> kAlgorithmWords[] = {{"ring", Algorithm::Ring},
                                                      {"naive", Algorithm::Naive},
                                                      {"recursive_doubling", Algorithm::RecursiveDoubling},
                                                      {"rabenseifner", Algorithm::Rabenseifner},
                                                      {"binomial_tree", Algorithm::BinomialTree},
                                                      {"tree", Algorithm::NcclTree},
                                                      {"hierarchical", Algorithm::Hierarchical},
                                                      {"nvls", Algorithm::Nvls}};
inline constexpr Word<RingOrder> kOrderWords[] = {{"nccl", RingOrder::Nccl},
                                                  {"textbook", RingOrder::Textbook}};
inline constexpr Word<Chunking> kChunkingWords[] = {{"even", Chunking::Even}, {"nccl", Chunking::Nccl}};
inline constexpr Word<OnNan> kOnNanWords[] = {{"continue", OnNan::Continue},
                                              {"raise", OnNan::Raise},
                                              {"skip-here", OnNan::SkipHere},
                                              {"skip-all", OnNan::SkipAll}};
inline constexpr Word<Library> kLibraryWords[] = {
    {"nccl", Library::Nccl}, {"gloo", Library::Gloo}, {"mpi", Library::Mpi}};
inline constexpr Word<Transport> kTransportWords[] = {{"nvlink", Transport::NvLink},
                                                      {"ib", Transport::Ib},
                                                      {"roce", Transport::Roce},
                                                      {"tcp", Transport::Tcp},
                                                      {"shm", Transport::Shm}};
inline constexpr Word<Launcher> kLauncherWords[] = {
    {"torchrun", Launcher::Torchrun},
    {"mpirun", Launcher::Mpirun},
    {"mpirun --enable-recovery", Launcher::MpirunEnableRecovery},
    {"srun", Launcher::Srun},
    {"srun --kill-on-bad-exit", Launcher::SrunKillOnBadExit}};
inline constexpr Word<bool> kDebugWords[] = {{"off", false}, {"detail", true}};
inline constexpr Word<AfterFailure> kAfterWords[] = {{"restart", AfterFailure::Restart},
                                                     {"stop", AfterFailure::Stop}};
inline constexpr Word<Phase> kFaultPhaseWords[] = {{"forward", Phase::Forward},
                                                   {"loss", Phase::Loss},
                                                   {"backward", Phase::Backward},
                                                   {"all_reduce", Phase::AllReduce},
                                                   {"optimizer", Phase::Optimizer}};

/// The word of a value in its table.
template <class T, std::size_t N>
std::string_view word_of(const Word<T> (&words)[N], T value) {
  for (const auto& entry : words) {
    if (entry.value == value) return entry.word;
  }
  return words[0].word;
}

/// "ring, naive, …": all words of a table.
template <class T, std::size_t N>
std::string all_words(const Word<T> (&words)[N]) {
  std::string out;
  for (const auto& entry : words) {
    if (!out.empty()) out += ", ";
    out += entry.word;
  }
  return out;
}

}  // namespace ringside::sim
