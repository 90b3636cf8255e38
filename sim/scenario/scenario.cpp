#include "sim/scenario/scenario.hpp"

#include "sim/base/text.hpp"
#include "sim/scenario/words.hpp"

namespace ringside::sim {

std::string_view to_word(OnNan on_nan) {
  return word_of(kOnNanWords, on_nan);
}
std::string_view to_word(Library library) {
  return word_of(kLibraryWords, library);
}
std::string_view to_word(Transport transport) {
  return word_of(kTransportWords, transport);
}
std::string_view to_word(Launcher launcher) {
  return word_of(kLauncherWords, launcher);
}
std::string_view to_word(AfterFailure after) {
  return word_of(kAfterWords, after);
}

ScheduleRequest Scenario::schedule_request() const {
  ScheduleRequest request;
  request.collective = collective.collective;
  request.algorithm = collective.algorithm;
  request.order = collective.order;
  request.chunking = collective.chunking;
  request.dtype = tensor.dtype;
  request.count = tensor.shape.count();
  request.world_size = world_size();
  request.channels = collective.channels;
  request.gpus_per_node = cluster.gpus_per_node;
  request.root = collective.root;
  request.rings = collective.rings;
  request.inter_tree = collective.inter_tree;
  return request;
}

std::string Scenario::node_name(int node) {
  std::string name = "n";
  append_int(name, node);
  return name;
}

}  // namespace ringside::sim
