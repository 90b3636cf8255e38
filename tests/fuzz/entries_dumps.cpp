// Fuzz entries of the readers of dumps: pickle, JSON, Flight Recorder.
#include <cstdio>
#include <cstdlib>

#include "backend/import/fr_diagnosis.hpp"
#include "backend/import/fr_writer.hpp"
#include "backend/import/pickle.hpp"
#include "fuzz_entry.hpp"

namespace ringside::fuzz {

using namespace ringside::backend;

void broken(const char* what) {
  std::fprintf(stderr, "fuzz: broken: %s\n", what);
  std::abort();
}

namespace {

PlainLimits small_limits() {
  PlainLimits limits;
  limits.max_nodes = 100'000;
  limits.max_children = 400'000;
  return limits;
}

/// Walks some way into a document, which may be a graph with circles.
std::size_t walk(const PlainData& data) {
  std::size_t seen = 0;
  std::vector<PlainData::Ref> open{data.root()};
  while (!open.empty() && seen < 100) {
    const auto value = open.back();
    open.pop_back();
    ++seen;
    seen += value.text().size() > 1'000'000'000;
    (void)value.integer();
    (void)value.real();
    (void)value.boolean();
    (void)value.find("entries").find("state").at(3);
    for (std::size_t i = 0; i < value.size() && i < 16; ++i) open.push_back(value.at(i));
    require(!value.at(value.size()), "an item behind the end");
  }
  return seen;
}

}  // namespace

void pickle(std::string_view input) {
  const auto data = parse_pickle(input, "fuzz", small_limits());
  if (data) {
    walk(*data);
  } else {
    require(!data.error().what.empty(), "an error without words");
  }
}

void json(std::string_view input) {
  const auto data = parse_json(input, "fuzz", small_limits());
  if (data) {
    walk(*data);
  } else {
    require(!data.error().what.empty(), "an error without words");
  }
}

/// Up to four dumps, separated by a line of its own.
void flight_recorder(std::string_view input) {
  constexpr std::string_view kCut = "\n----\n";
  FrReader reader;
  for (int rank = 0; rank < 4; ++rank) {
    const std::size_t cut = input.find(kCut);
    const std::string_view document = input.substr(0, cut);
    const bool is_pickle = !document.empty() && document[0] == '\x80';
    (void)reader.add("nccl_trace_rank_" + std::to_string(rank), document,
                     is_pickle ? InputKind::FlightRecorderPickle : InputKind::FlightRecorderJson);
    if (cut == std::string_view::npos) break;
    input.remove_prefix(cut + kCut.size());
  }
  const FlightRecorder recorder = reader.finish();
  const sim::Diagnosis verdict = diagnose(recorder);
  const std::vector<int> expected = recorder.expected_ranks();
  for (const int rank : verdict.culprits)
    require(std::binary_search(expected.begin(), expected.end(), rank) || recorder.dump_of(rank) == nullptr,
            "a culprit that is no rank of the job");
  for (const int victim : verdict.victims)
    require(std::find(verdict.culprits.begin(), verdict.culprits.end(), victim) == verdict.culprits.end(),
            "a rank that is culprit and victim");
  std::string out;
  append_diagnosis_json(out, verdict);
  Facts facts;
  append_facts(recorder, facts);
  FrReader again;
  for (const auto& dump : recorder.dumps) {
    const std::string written = flight_recorder_json(recorder, dump);
    const auto read =
        again.add("nccl_trace_rank_" + std::to_string(dump.rank), written, InputKind::FlightRecorderJson);
    require(static_cast<bool>(read), "a dump that we wrote cannot be read");
  }
}

}  // namespace ringside::fuzz
