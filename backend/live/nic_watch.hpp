// The network ports of this host that were up when the job began: says when one goes down and when it comes
// back. For jobs on several hosts; within one host no port matters.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ringside::backend {

struct NicChange {
  std::string port;
  bool up = false;
};

class NicWatch {
 public:
  /// What has changed since the last call; the first call only looks. A port counts as up while it has a
  /// carrier and an address can work through it (IFF_UP and IFF_RUNNING). Loopback is none.
  std::vector<NicChange> changes();

 private:
  std::map<std::string, bool> up_;
  bool looked_ = false;
};

}  // namespace ringside::backend
