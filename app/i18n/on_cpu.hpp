// Where ranks are processes on CPUs and not GPUs, texts say so.
#pragma once

namespace ringside::app {

/// Whether the ranks on screen are processes on CPUs: texts that speak of GPUs then take their form of the table
/// "on_cpu" where there is one ("on_cpu.nan.now.everywhere" for "nan.now.everywhere"). The shell sets it before a frame.
void set_ranks_on_cpu(bool on_cpu);
bool ranks_on_cpu();

}  // namespace ringside::app
