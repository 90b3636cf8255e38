// The project's only way to read TOML: toml++ without exceptions, behind a guard.
#pragma once

#include <string_view>

#include "sim/base/result.hpp"

#ifdef TOML_SHARED_LIB  // Debian's package asks for its shared library, which is built with exceptions
#undef TOML_SHARED_LIB
#endif
#ifdef TOML_HEADER_ONLY
#undef TOML_HEADER_ONLY
#endif
#define TOML_HEADER_ONLY 0  // toml.cpp holds the parser: it takes seconds to compile
#ifdef TOML_EXCEPTIONS
#undef TOML_EXCEPTIONS
#endif
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace ringside::sim {

/// Parses TOML text from anywhere, hostile text too. An Error has file, line and column. Two inputs that
/// bring toml++ 3.3 down are refused before it sees them: a table header without a name ("[[[" stops a debug
/// build and is undefined in an optimised one) and keys of very many parts ("a.a.a…" overflows the stack).
Result<toml::table> parse_toml(std::string_view text, std::string_view file_name);

}  // namespace ringside::sim
