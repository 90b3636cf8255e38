# Options, compile flags and the summary that configure prints at its end.
set(RINGSIDE_APP AUTO CACHE STRING "The window and --render: AUTO (if GLFW, EGL and ImGui are found), ON or OFF")
set(RINGSIDE_MPI AUTO CACHE STRING "Live ranks over MPI: AUTO, ON or OFF")
set(RINGSIDE_CUDA AUTO CACHE STRING "NCCL data plane and CUDA kernels: AUTO, ON or OFF")
option(RINGSIDE_CORE_ONLY "Only sim/ and what its golden tests need: no readers of logs, no live runs, no programs" OFF)
option(RINGSIDE_TESTS "Build the tests" ON)
option(RINGSIDE_BENCH "Build the benchmarks in tests/bench" OFF)
option(RINGSIDE_FUZZ "Build the libFuzzer targets in tests/fuzz (Clang only)" OFF)
option(RINGSIDE_WERROR "Warnings are errors (CI)" OFF)
option(RINGSIDE_UNITY "Compile the sources of a target in groups: a whole build takes less than half the time" OFF)
option(RINGSIDE_FETCH_DEPS "Fetch a pinned Dear ImGui instead of the system's" OFF)
set(RINGSIDE_SANITIZE "" CACHE STRING "Sanitizers for every target, for example address,undefined or thread")
set_property(CACHE RINGSIDE_APP RINGSIDE_MPI RINGSIDE_CUDA PROPERTY STRINGS AUTO ON OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# Linked PRIVATE by our own targets only, so third-party headers are never judged by our warnings.
add_library(ringside_flags INTERFACE)
target_compile_options(ringside_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor>
  $<$<AND:$<BOOL:${RINGSIDE_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>)
# GCC 12 sees overlaps in std::string's own operator+ at -O2 (GCC bug 105651).
target_compile_options(ringside_flags INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>)
# The same bits on every compiler: no fused multiply-add behind our back (sim/, kernels/ on the host, backend/).
target_compile_options(ringside_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
target_include_directories(ringside_flags INTERFACE ${CMAKE_SOURCE_DIR})
if(RINGSIDE_SANITIZE)
  target_compile_options(ringside_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${RINGSIDE_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(ringside_flags INTERFACE -fsanitize=${RINGSIDE_SANITIZE})
  if(RINGSIDE_SANITIZE MATCHES thread)
    # ThreadSanitizer knows no fences (GCC's -Wtsan); Asio's own locks order what its fences order.
    target_compile_definitions(ringside_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
if(RINGSIDE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "RINGSIDE_FUZZ needs Clang: use the preset fuzz")
  endif()
  # "undefined" alone makes several times as many runs a second; libstdc++'s own checks of bounds stand in for ASan then.
  set(RINGSIDE_FUZZ_SANITIZE "address,undefined" CACHE STRING "Sanitizers of the fuzz programs")
  target_compile_options(ringside_flags INTERFACE -fsanitize=fuzzer-no-link,${RINGSIDE_FUZZ_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  if(NOT RINGSIDE_FUZZ_SANITIZE MATCHES address)
    target_compile_options(ringside_flags INTERFACE -fno-sanitize-coverage=trace-cmp)
    target_compile_definitions(ringside_flags INTERFACE _GLIBCXX_ASSERTIONS)
  endif()
  target_link_options(ringside_flags INTERFACE -fsanitize=${RINGSIDE_FUZZ_SANITIZE})
endif()

# ringside_unity(target [ALONE source …]): with RINGSIDE_UNITY, compiles the sources of a target in groups, so that headers are
# read and templates instantiated once for each group. A group is the files of one folder whose names begin with the same word
# (scenes/step_*.cpp); fewer than four of a kind go into one group for the rest of the folder. Within a group the names of
# unnamed namespaces must differ, also from those of the headers after them; ALONE names the sources that are compiled by
# themselves. Files with options of their own stay alone too.
function(ringside_unity target)
  if(NOT RINGSIDE_UNITY)
    return()
  endif()
  cmake_parse_arguments(U "" "" "ALONE" ${ARGN})
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  if(U_ALONE)
    list(REMOVE_ITEM sources ${U_ALONE})
  endif()
  foreach(source IN LISTS sources)
    string(REGEX REPLACE "(_[^/]*)?\\.cpp$" "" key ${source})
    string(MAKE_C_IDENTIFIER "key_${key}" key)
    list(APPEND ${key} ${source})
    list(APPEND keys ${key})
  endforeach()
  list(REMOVE_DUPLICATES keys)
  foreach(key IN LISTS keys)
    list(LENGTH ${key} count)
    list(GET ${key} 0 first)
    set(group ${key})
    if(count LESS 4)
      get_filename_component(folder "${first}" DIRECTORY)
      string(MAKE_C_IDENTIFIER "rest_${folder}" group)
    endif()
    set_source_files_properties(${${key}} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

function(ringside_summary name value)
  set_property(GLOBAL APPEND_STRING PROPERTY RINGSIDE_SUMMARY "\n  ${name}: ${value}")
endfunction()
function(ringside_print_summary)
  get_property(summary GLOBAL PROPERTY RINGSIDE_SUMMARY)
  message(STATUS "Ringside ${PROJECT_VERSION} (${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION})${summary}")
endfunction()
