// The parts of the scenario parser that have a file of their own.
#pragma once

#include "sim/scenario/scenario.hpp"
#include "sim/scenario/table_reader.hpp"

namespace ringside::sim {

/// [tensor] and, for files, their bytes. Needs the cluster; the network (if any) already gave the shape.
void read_tensor(ReadContext& context, const toml::table* table, const FileLoader& load, Scenario& scenario);

/// A list of extents ("[2, 3]", "[\"25M\"]") under a key; nothing (and an error) if it is not one.
std::optional<Shape> read_shape(TableReader& table, std::string_view key);

/// All [[fault]] tables, checked against the scenario and each other. Needs all the rest.
void read_faults(TableReader& root, Scenario& scenario);

}  // namespace ringside::sim
