// Where the command line finds files that ship with Ringside.
#pragma once

#include <string>

#include "sim/base/result.hpp"

namespace ringside::app {

/// The text of an asset ("presets.toml"). Looked for in `given` (--assets) alone if it is not empty, else in
/// $XDG_DATA_HOME/ringside, the installed share/ringside, beside the executable. The Error lists the places.
sim::Result<std::string> read_asset(const std::string& given, const std::string& name);

}  // namespace ringside::app
