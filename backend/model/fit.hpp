// Fits the time model's constants to measured tables and measures its error on machines that it did not see.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "backend/model/nccl_tests_table.hpp"
#include "sim/base/result.hpp"
#include "sim/model/time_model.hpp"

namespace ringside::backend {

/// How a table of the collection is used.
enum class TableUse : std::uint8_t { Fit, Sick, None };

struct CatalogTable {
  std::string file;
  sim::Preset preset;
  std::string machine;  // tables of one machine are held out together
  TableUse use = TableUse::None;
  std::vector<std::string> causes;  // of a sick one: what it may be called
  MeasuredTable table;
};

/// Reads index.toml of a folder and the tables it names.
sim::Result<std::vector<CatalogTable>> read_catalog(const std::string& folder);

/// The constants that fit these tables best: medium-sized errors count in full, outliers little, and each
/// constant is held near a physical guess or near its kin. Rounded to 4 digits. Deterministic.
sim::ModelConstants fit_constants(const std::vector<const CatalogTable*>& tables);

/// Relative errors (predicted / measured - 1) by size band.
using BandSamples = std::array<std::vector<double>, sim::kSizeBands>;
sim::BandErrors median_absolute_percent(const BandSamples& samples);

struct HeldOutTable {
  const CatalogTable* table = nullptr;
  sim::ModelConstants constants;  // fitted without this machine
  BandSamples model;              // errors with those constants
  BandSamples tuner;              // NCCL's formula alone
};

struct FitReport {
  sim::TimeModel model;  // constants of all tables, errors of the held-out ones
  std::vector<HeldOutTable> held_out;
};

/// Fit on all tables of use Fit, and once without each machine.
FitReport fit_and_hold_out(const std::vector<CatalogTable>& catalog);

/// The leave-one-machine-out table as Markdown.
std::string hold_out_table(const FitReport& report);

}  // namespace ringside::backend
