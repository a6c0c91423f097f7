# The daemon's layers (src/store, src/rpc, src/http, src/daemon): target cuzk_daemon, linked into the program and into
# the tests of those folders. Sets CUZK_HAVE_DAEMON. CUZK_DAEMON=AUTO builds them when all libraries are there, ON insists.
#
# What else needs them is found by what it includes: a file of src/cli, fuzz/ or bench/ that includes a header of those
# folders is built only with the daemon.
set(CUZK_HAVE_DAEMON OFF)
set(daemon_layers store rpc http daemon)

function(daemon_missing out)
    set(missing)
    find_package(PkgConfig QUIET)
    if(NOT PkgConfig_FOUND)
        set(${out} pkg-config PARENT_SCOPE)
        return()
    endif()
    foreach(module sqlite3 libnghttp2 libprotobuf-c libmicrohttpd tomlplusplus libsystemd)
        pkg_check_modules(${module} QUIET IMPORTED_TARGET GLOBAL ${module})
        if(NOT ${module}_FOUND)
            list(APPEND missing ${module})
        endif()
    endforeach()
    find_program(PROTOC_C protoc-c)
    if(NOT PROTOC_C)
        list(APPEND missing protoc-c)
    endif()
    find_package(OpenSSL 3 QUIET COMPONENTS SSL)
    if(NOT TARGET OpenSSL::SSL)
        list(APPEND missing libssl)
    endif()
    set(${out} ${missing} PARENT_SCOPE)
endfunction()

# ON when a source includes a header of the daemon's layers.
function(needs_daemon out source)
    list(JOIN daemon_layers "|" names)
    file(STRINGS ${source} found REGEX "^#include \"(${names})/" LIMIT_COUNT 1)
    if(found)
        set(${out} ON PARENT_SCOPE)
    else()
        set(${out} OFF PARENT_SCOPE)
    endif()
endfunction()

# The list of sources without those that need the daemon, when there is none.
function(without_daemon list_name)
    if(CUZK_HAVE_DAEMON)
        return()
    endif()
    set(kept)
    foreach(source ${${list_name}})
        needs_daemon(needs ${source})
        if(NOT needs)
            list(APPEND kept ${source})
        endif()
    endforeach()
    set(${list_name} ${kept} PARENT_SCOPE)
endfunction()

if(NOT CUZK_DAEMON STREQUAL "AUTO" AND NOT CUZK_DAEMON)
    return()
endif()
daemon_missing(missing)
if(missing)
    list(JOIN missing ", " missing)
    if(NOT CUZK_DAEMON STREQUAL "AUTO")
        message(FATAL_ERROR "CUZK_DAEMON: not found: ${missing} (Debian: tools/setup-debian.sh)")
    endif()
    message(STATUS "the daemon is left out; not found: ${missing}")
    return()
endif()

# One C++ file wraps the TOML parser. Its compiler is the sibling of the C compiler, so that sanitizers agree.
if(CMAKE_C_COMPILER_ID MATCHES "Clang" AND NOT CMAKE_CXX_COMPILER)
    string(REGEX REPLACE "clang([^/]*)$" "clang++\\1" sibling ${CMAKE_C_COMPILER})
    if(EXISTS ${sibling})
        set(CMAKE_CXX_COMPILER ${sibling})
    endif()
endif()
enable_language(CXX)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
set(CMAKE_CXX_FLAGS_DEBUG "${CMAKE_C_FLAGS_DEBUG}")

# --- messages --------------------------------------------------------------------------------------------------------
set(proto_dir ${PROJECT_SOURCE_DIR}/proto)
set(proto_out ${CMAKE_BINARY_DIR}/proto)
file(GLOB_RECURSE protos CONFIGURE_DEPENDS RELATIVE ${proto_dir} ${proto_dir}/*.proto)
set(proto_sources)
file(MAKE_DIRECTORY ${proto_out})
foreach(proto ${protos})
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    add_custom_command(OUTPUT ${proto_out}/${stem}.pb-c.c ${proto_out}/${stem}.pb-c.h
                       COMMAND ${PROTOC_C} -I${proto_dir} --c_out=${proto_out} ${proto}
                       DEPENDS ${proto_dir}/${proto} WORKING_DIRECTORY ${proto_dir} VERBATIM)
    list(APPEND proto_sources ${proto_out}/${stem}.pb-c.c)
endforeach()
add_library(cuzk_proto OBJECT ${proto_sources})
target_include_directories(cuzk_proto SYSTEM PUBLIC ${proto_out})
target_link_libraries(cuzk_proto PUBLIC PkgConfig::libprotobuf-c)
if(CUZK_SANITIZE)
    target_compile_options(cuzk_proto PRIVATE -fsanitize=${CUZK_SANITIZE} -fno-sanitize-recover=all)
endif()
if(CUZK_FUZZ)
    target_compile_options(cuzk_proto PRIVATE -fsanitize=fuzzer-no-link)
endif()

# --- layers ----------------------------------------------------------------------------------------------------------
set(daemon_sources)
foreach(layer ${daemon_layers})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${layer}/*.c ${PROJECT_SOURCE_DIR}/src/${layer}/*.cpp)
    list(APPEND daemon_sources ${found})
endforeach()
# The page at / is built in.
set(page ${CMAKE_BINARY_DIR}/web_index_html.c)
add_custom_command(OUTPUT ${page}
                   COMMAND ${CMAKE_COMMAND} -DIN=${PROJECT_SOURCE_DIR}/web/index.html -DOUT=${page}
                           -DNAME=web_index_html -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
                   DEPENDS ${PROJECT_SOURCE_DIR}/web/index.html ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
list(APPEND daemon_sources ${page})
add_library(cuzk_daemon STATIC ${daemon_sources} $<TARGET_OBJECTS:cuzk_proto>)
target_include_directories(cuzk_daemon SYSTEM PUBLIC ${proto_out})
target_compile_definitions(cuzk_daemon PUBLIC CUZK_HAVE_DAEMON=1)
target_link_libraries(cuzk_daemon PUBLIC cuzk PkgConfig::sqlite3 PkgConfig::libnghttp2 PkgConfig::libprotobuf-c
                                         PkgConfig::libmicrohttpd PkgConfig::libsystemd OpenSSL::SSL)
add_dependencies(cuzk_daemon cuzk_proto)
# toml++ as a header: no library of it is needed where the program runs. It is long to compile, the longer the more it
# is to be optimised or watched.
set(toml_optimisation -O1)
if(CUZK_SANITIZE)
    set(toml_optimisation -O0)
endif()
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/daemon/config_toml.cpp PROPERTIES
                            COMPILE_DEFINITIONS "TOML_HEADER_ONLY=1;TOML_EXCEPTIONS=0;TOML_ENABLE_FORMATTERS=0"
                            COMPILE_OPTIONS ${toml_optimisation})
set_target_properties(cuzk_daemon PROPERTIES LINKER_LANGUAGE CXX)
if(NOT CUZK_SANITIZE AND NOT CUZK_FUZZ)
    target_link_options(cuzk_daemon INTERFACE -static-libstdc++ -static-libgcc)
endif()
set(CUZK_HAVE_DAEMON ON)
