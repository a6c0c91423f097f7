# The CUDA module libcuzk-cuda.so: the device side of the CUDA backend (src/backend/cuda/*.cu), loaded at run time by the
# program. nvcc is called directly, file by file, because it may come from Python packages (tools/setup-cuda.sh), a layout that
# CMake's own CUDA language does not know.
#   CUZK_NVCC        nvcc; default: the PATH's, else build/cuda-venv's
#   CUZK_CUDA_ARCHS  machine code for these, and PTX of the last; releases carry 80;86;89;90a;100;120
#   CUZK_CUDA_QUICK  little optimised, in half the time: to see that all of it compiles
set(CUZK_CUDA_ARCHS "90a" CACHE STRING "compute capabilities of the CUDA module")
option(CUZK_CUDA_QUICK "a CUDA module that is little optimised" OFF)
file(GLOB venv_nvcc ${PROJECT_SOURCE_DIR}/build/cuda-venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
find_program(CUZK_NVCC nvcc HINTS ENV CUDA_HOME PATH_SUFFIXES bin)
if(NOT CUZK_NVCC AND venv_nvcc)
    list(GET venv_nvcc 0 nvcc)
    set(CUZK_NVCC ${nvcc} CACHE FILEPATH "nvcc" FORCE)
endif()
if(NOT CUZK_NVCC)
    message(FATAL_ERROR "CUZK_CUDA: no nvcc; install the CUDA toolkit 13, or run tools/setup-cuda.sh")
endif()
get_filename_component(cuda_root ${CUZK_NVCC} REALPATH)
get_filename_component(cuda_root ${cuda_root} DIRECTORY)
get_filename_component(cuda_root ${cuda_root} DIRECTORY)
find_library(CUDART_STATIC cudart_static HINTS ${cuda_root}/lib ${cuda_root}/lib64 ${cuda_root}/targets/x86_64-linux/lib
             REQUIRED)

set(cuda_gencode)
foreach(arch ${CUZK_CUDA_ARCHS})
    list(APPEND cuda_gencode -gencode=arch=compute_${arch},code=sm_${arch})
    string(REGEX REPLACE "[a-z]$" "" newest ${arch})
endforeach()
list(APPEND cuda_gencode -gencode=arch=compute_${newest},code=compute_${newest})
if(CUZK_CUDA_QUICK) # machine code and portable PTX share the compiler's longest pass
    list(TRANSFORM CUZK_CUDA_ARCHS PREPEND sm_ OUTPUT_VARIABLE codes)
    list(JOIN codes "," codes)
    set(cuda_gencode -gencode=arch=compute_${newest},code=[${codes},compute_${newest}])
endif()
set(cuda_flags -std=c++17 ${cuda_gencode} -Xcompiler=-fPIC,-fvisibility=hidden,-Wall -I${PROJECT_SOURCE_DIR}/include
               -I${PROJECT_SOURCE_DIR}/src)
if(CUZK_CUDA_QUICK)
    list(APPEND cuda_flags -O0 -Ofc=max)
else()
    list(APPEND cuda_flags -O3 -lineinfo)
endif()

# One object a source; each depends on the neighbouring headers.
file(GLOB cuda_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/backend/cuda/*.cuh ${PROJECT_SOURCE_DIR}/tests/cuda/*.h)
list(APPEND cuda_headers ${PROJECT_SOURCE_DIR}/src/backend/cuda/gpu.h ${PROJECT_SOURCE_DIR}/src/math/field_constants.h)
function(cuda_objects out)
    set(objects)
    foreach(source ${ARGN})
        get_filename_component(name ${source} NAME)
        set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
        add_custom_command(OUTPUT ${object} COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/cuda
                           COMMAND ${CUZK_NVCC} ${cuda_flags} -I${PROJECT_SOURCE_DIR}/tests/cuda -c ${source} -o ${object}
                           DEPENDS ${source} ${cuda_headers} VERBATIM COMMENT "nvcc ${name}")
        list(APPEND objects ${object})
    endforeach()
    set(${out} ${objects} PARENT_SCOPE)
endfunction()

enable_language(CXX)
file(GLOB cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/backend/cuda/*.cu)
cuda_objects(cuda_module_objects ${cuda_sources})
add_library(cuzk-cuda MODULE ${cuda_module_objects} src/base/error.c src/base/status.c)
set_target_properties(cuzk-cuda PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(cuzk-cuda PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(cuzk-cuda PRIVATE _GNU_SOURCE)
target_link_libraries(cuzk-cuda PRIVATE ${CUDART_STATIC} Threads::Threads rt ${CMAKE_DL_LIBS})
set(cuda_map ${PROJECT_SOURCE_DIR}/src/backend/cuda/module.map)
target_link_options(cuzk-cuda PRIVATE -Wl,--version-script=${cuda_map})
set_target_properties(cuzk-cuda PROPERTIES LINK_DEPENDS ${cuda_map})
install(TARGETS cuzk-cuda LIBRARY DESTINATION bin)

# Tests for a machine with a device (tools/gpu/run.sh): the kernels against the CPU, and whole proofs.
file(GLOB cuda_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cuda/test_*.cu)
cuda_objects(cuda_test_objects ${cuda_tests})
add_executable(cuda_kernels ${cuda_test_objects} ${cuda_module_objects} tests/cuda/twin.c)
set_target_properties(cuda_kernels PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(cuda_kernels PRIVATE ${PROJECT_SOURCE_DIR}/tests/cuda)
target_link_libraries(cuda_kernels PRIVATE cuzk ${CUDART_STATIC} rt)
foreach(name proofs full mixed)
    add_executable(cuda_${name} tests/cuda/${name}.c)
    target_link_libraries(cuda_${name} PRIVATE cuzk_test)
endforeach()
