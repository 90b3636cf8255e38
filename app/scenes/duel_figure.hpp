// Inside of the duel scene: cards, plot and inspector.
#pragma once

#include <optional>
#include <string>

#include "app/scenes/duel_model.hpp"
#include "app/scenes/scene.hpp"
#include "sim/model/health.hpp"

namespace ringside::app {

/// What the scene keeps beside its setup.
struct DuelState {
  double clock_us = -1;  // of the race; < 0 = no race: the moment when the fastest is done
  std::optional<DuelMeasured> measured;
  std::optional<sim::TableComparison> comparison;
  std::string table_problem;  // why a table could not be read
  std::string path;           // typed
};

/// What a person did; the scene changes its setup with it.
struct DuelAnswer {
  std::optional<DuelSetup> setup;
  bool race = false;
};

/// The time that the bars show.
double duel_clock(const DuelView& duel, const DuelState& state);
void draw_duel_cards(View& view, const DuelView& duel, const DuelState& state, Rect box, DuelAnswer& answer);
void draw_duel_plot(View& view, const DuelView& duel, const DuelState& state, Rect box, DuelAnswer& answer);
void draw_duel_inspector(View& view, const DuelView& duel, DuelState& state, DuelAnswer& answer);

/// "A" … "D".
std::string side_letter(std::size_t side);
/// The algorithm as people read it.
std::string side_name(const DuelView& duel, std::size_t side);

}  // namespace ringside::app
