#include "backend/live/nic_watch.hpp"

#include <ifaddrs.h>
#include <net/if.h>

namespace ringside::backend {
namespace {

/// Port -> has a carrier. Ports that are switched off have no address any more, but they are still listed.
std::map<std::string, bool> ports_now() {
  std::map<std::string, bool> ports;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return ports;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if ((at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    ports[at->ifa_name] = (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_RUNNING) != 0;
  }
  ::freeifaddrs(list);
  return ports;
}

}  // namespace

std::vector<NicChange> NicWatch::changes() {
  const std::map<std::string, bool> now = ports_now();
  std::vector<NicChange> out;
  if (!looked_) {
    for (const auto& [port, up] : now)
      if (up) up_[port] = true;
    looked_ = true;
    return out;
  }
  for (auto& [port, was_up] : up_) {
    const auto found = now.find(port);
    const bool up = found != now.end() && found->second;  // a port that is gone is down
    if (up != was_up) out.push_back({port, up});
    was_up = up;
  }
  return out;
}

}  // namespace ringside::backend
