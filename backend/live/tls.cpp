// Self-signed certificates and their fingerprints, with OpenSSL.
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>

#include "backend/live/hub.hpp"
#include "sim/base/text.hpp"

namespace ringside::backend {
namespace {

struct Free {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(std::FILE* p) const { std::fclose(p); }
  void operator()(X509_EXTENSION* p) const { X509_EXTENSION_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

/// A new file that only its owner may read.
Owned<std::FILE> create_private(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return Owned<std::FILE>(fd < 0 ? nullptr : ::fdopen(fd, "w"));
}

}  // namespace

sim::Status write_self_signed(const std::string& certificate_path, const std::string& key_path,
                              const std::string& host) {
  if (!sim::is_safe_host_name(host))
    return sim::Error{.what = "not a host name", .text = host, .legal = "letters, digits, . _ -"};
  Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  Owned<X509> certificate(X509_new());
  if (!key || !certificate) return sim::Error{.what = "OpenSSL could not make a key"};
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 365L * 24 * 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(host.c_str()),
                             -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  const std::string alternative = "DNS:" + host;
  Owned<X509_EXTENSION> names(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, alternative.c_str()));
  if (names) X509_add_ext(certificate.get(), names.get(), -1);
  if (X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0)
    return sim::Error{.what = "OpenSSL could not sign"};
  const auto key_file = create_private(key_path);
  const auto certificate_file = create_private(certificate_path);
  if (!key_file || !certificate_file)
    return sim::Error{.what = "cannot create the certificate or its key (do they exist already?)",
                      .file = certificate_path};
  const bool wrote =
      PEM_write_PrivateKey(key_file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1 &&
      PEM_write_X509(certificate_file.get(), certificate.get()) == 1;
  if (!wrote) return sim::Error{.what = "cannot write the certificate", .file = certificate_path};
  return sim::ok();
}

sim::Result<std::string> certificate_fingerprint(const std::string& certificate_path) {
  const Owned<std::FILE> file(std::fopen(certificate_path.c_str(), "r"));
  if (!file) return sim::Error{.what = std::strerror(errno), .file = certificate_path};
  const Owned<X509> certificate(PEM_read_X509(file.get(), nullptr, nullptr, nullptr));
  if (!certificate) return sim::Error{.what = "not a PEM certificate", .file = certificate_path};
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size);
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (unsigned i = 0; i < size; ++i) {
    out += kHex[digest[i] >> 4];
    out += kHex[digest[i] & 0xF];
  }
  return out;
}

}  // namespace ringside::backend
