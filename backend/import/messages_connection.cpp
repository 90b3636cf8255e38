// Forms in which a lost or refused connection shows: Gloo, TCPStore, NCCL's sockets, Python. Their author is
// the victim.
#include "backend/import/messages.hpp"

namespace ringside::backend {
namespace {

constexpr MessageForm kForms[] = {
    {FactKind::PeerClosed, Layer::Gloo, Role::Victim, "Connection closed by peer",
     R"(Connection closed by peer \[?(?P<peer>[0-9A-Fa-f.:]+|[^\]\s]+)\]?)"},
    {FactKind::PeerClosed, Layer::Gloo, Role::Victim, "Read error [",
     R"(Read error \[(?P<peer>[^\]]+)\](?::\d+)?: (?P<name>.*))"},
    {FactKind::PeerClosed, Layer::Gloo, Role::Victim, "Write error [",
     R"(Write error \[(?P<peer>[^\]]+)\](?::\d+)?: (?P<name>.*))"},
    {FactKind::PeerClosed, Layer::Nccl, Role::Consequence, "Connection closed by localRank",
     R"(Connection closed by localRank (?P<local_rank>\d+))", "service thread"},
    {FactKind::PeerClosed, Layer::Nccl, Role::Victim, "closed by remote peer",
     R"(Connection closed by remote peer (?P<peer>[^<\s]+))"},
    {FactKind::StoreUnreachable, Layer::Nccl, Role::Victim, "No route to host",
     R"((?:(?:Connect|connect)\w*(?: to)?|to) \[?(?P<peer>[^<\s\]]+)\]?.*?(?P<name>No route to host))"},
    {FactKind::StoreUnreachable, Layer::Nccl, Role::Victim,
     "> failed : ", R"((?:Connect to|connect to) (?P<peer>[^<\s]+)<\d+> failed : (?P<name>.*))"},
    {FactKind::StoreUnreachable, Layer::Nccl, Role::Victim, "Call to connect",
     R"(Call to connect (?:to (?P<peer>[^<\s]+)<\d+> )?(?:failed|returned)[ :]*(?P<name>.*))"},
    {FactKind::PeerClosed, Layer::Nccl, Role::Victim, "> failed : ",
     R"(Call to (?:recv|send)\w* (?:from|to) (?P<peer>[^<\s]+)<\d+> failed : (?P<name>Connection reset by peer|Broken pipe|Connection timed out|.*))"},
    {FactKind::PeerClosed, Layer::Nccl, Role::Victim, "Socket recv failed while polling",
     "Socket recv failed while polling for opId"},
    {FactKind::PeerClosed, Layer::Nccl, Role::Consequence, "Error encountered progressing operation",
     R"(Error encountered progressing operation=\w+, res=(?P<code>\d+))", "service thread"},
    {FactKind::PeerClosed, Layer::Nccl, Role::Consequence, "Failed to execute operation",
     R"(\[Proxy Service\s*(?P<local_rank>\d*)\] Failed to execute operation (?P<op>\w+) from rank \d+, retcode (?P<code>\d+))",
     "proxy service"},
    {FactKind::PeerClosed, Layer::Nccl, Role::Consequence, "Proxy Call to rank",
     R"(Proxy Call to rank (?P<local_rank>\d+) failed)", "proxy service"},
    {FactKind::PeerClosed, Layer::Mpi, Role::Victim, "Peer host: ", R"(Peer host:\s+(?P<peer>[\w.-]+))"},
    {FactKind::PeerClosed, Layer::Mpi, Role::Victim, "unexpectedly disconnected",
     "peer process has unexpectedly disconnected", "disconnected"},
    // ---- TCPStore and rendezvous
    {FactKind::StoreUnreachable, Layer::Store, Role::Victim, "client socket has timed out",
     R"(client socket has timed out after (?P<value>\d+)m?s while trying to connect to \((?P<peer>[^,)]+), (?P<limit>\d+)\))",
     "timed out"},
    {FactKind::StoreUnreachable, Layer::Store, Role::Victim, "client socket has failed to connect",
     R"(client socket has failed to connect to \[?(?P<peer>[^\]\s]+)\]?:(?P<limit>\d+) \(errno: (?P<code>\d+) - (?P<name>[^)]*)\))"},
    {FactKind::StoreUnreachable, Layer::Store, Role::Victim, "RendezvousConnectionError",
     "RendezvousConnectionError", "rendezvous"},
    {FactKind::StoreUnreachable, Layer::Store, Role::Victim, "RendezvousTimeoutError",
     "RendezvousTimeoutError", "rendezvous"},
    {FactKind::StoreUnreachable, Layer::Store, Role::Names, "waiting for clients",
     R"(Timed out after (?P<value>\d+) seconds waiting for clients\. (?P<completed>\d+)/(?P<limit>\d+) clients joined)",
     "clients"},
    {FactKind::StoreUnreachable, Layer::Gloo, Role::Victim, "connectFullMesh failed",
     R"(connectFullMesh failed with (?P<name>.*))"},
    {FactKind::StoreUnreachable, Layer::Mpi, Role::Victim, "unable to reach the following",
     R"(unable to reach|failed to TCP connect)", "unreachable"},
    {FactKind::NoInterface, Layer::Nccl, Role::Root, "no socket interface found",
     "no socket interface found"},
    {FactKind::NoInterface, Layer::Nccl, Role::Root, "No interface found",
     R"(No interface found (?P<name>.*))"},
    {FactKind::NoInterface, Layer::Gloo, Role::Root, "Unable to find address for",
     R"(Unable to find (?:address for|interface for):? ?(?P<name>.*))"},
    {FactKind::NoInterface, Layer::Gloo, Role::Root, "ifa != nullptr",
     R"(Unable to find interface|ifa != nullptr)"},
    {FactKind::NoInterface, Layer::Store, Role::Root, "cannot be retrieved",
     R"(network addresses of \((?P<peer>[^,)]+), \d+\) cannot be retrieved \((?P<name>[^)]*)\))"},
    {FactKind::NoInterface, Layer::Store, Role::Root, "Name or service not known",
     "Name or service not known", "name not known"},
    {FactKind::NoInterface, Layer::Store, Role::Root, "Temporary failure in name resolution",
     "Temporary failure in name resolution", "name not known"},
    {FactKind::PortInUse, Layer::Store, Role::Root, "EADDRINUSE", R"(EADDRINUSE)"},
    {FactKind::PortInUse, Layer::Store, Role::Root, "ddress already in use", R"([Aa]ddress already in use)"},
    {FactKind::StoreLost, Layer::Store, Role::Victim, "recvValue failed", "recvValue failed"},
    {FactKind::StoreLost, Layer::Store, Role::Victim, "sendBytes failed", "sendBytes failed"},
    {FactKind::StoreLost, Layer::Store, Role::Victim, "Failed to recv, got 0 bytes",
     "Failed to recv, got 0 bytes"},
    {FactKind::StoreLost, Layer::Store, Role::Victim, "store->get(",
     R"(store->get\('(?P<name>[^']*)'\) got error)"},
    {FactKind::StoreLost, Layer::Store, Role::Victim, "wait timeout after",
     R"(wait timeout after (?P<value>\d+)ms, keys: (?P<name>\S*))"},
    {FactKind::StoreLost, Layer::Store, Role::Victim, "Socket Timeout", "Socket Timeout"},
    // ---- any library, last
    {FactKind::PeerClosed, Layer::Python, Role::Victim, "Connection reset by peer",
     "Connection reset by peer", "reset", true},
    {FactKind::PeerClosed, Layer::Python, Role::Victim, "Broken pipe", "Broken pipe", "broken pipe", true},
    {FactKind::PeerClosed, Layer::Python, Role::Victim, "ConnectionResetError", "ConnectionResetError",
     "reset", true},
    {FactKind::PeerClosed, Layer::Python, Role::Victim, "BrokenPipeError", "BrokenPipeError", "broken pipe",
     true},
    {FactKind::PeerClosed, Layer::Python, Role::Victim, "connection was closed", "(?i)connection was closed",
     "closed", true},
};

}  // namespace

std::span<const MessageForm> connection_messages() {
  return kForms;
}

}  // namespace ringside::backend
