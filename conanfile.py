import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class StrettoConan(ConanFile):
    name = "stretto"
    description = "Generic dataflow-graph transforms that hide communication under computation"
    license = "Apache-2.0 WITH LLVM-exception"
    topics = ("dataflow", "graph", "scheduling", "distributed-training", "header-only")
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "with_capture": [True, False],
        "with_boost_graph": [True, False],
        "with_host": [True, False],
        "with_mpi": [True, False],
        "with_range_v3": [True, False],
        "with_compiled": [True, False],
        "with_cuda_nccl": [True, False],
    }
    default_options = {
        "with_capture": False,
        "with_boost_graph": False,
        "with_host": False,
        "with_mpi": False,
        "with_range_v3": False,
        "with_compiled": False,
        "with_cuda_nccl": False,
    }
    exports_sources = "include/*", "packaging/compiled.cpp", "packaging/cmake/*", "CMakeLists.txt", "LICENSE"
    no_copy_source = True
    test_package_folder = "packaging/conan/test_package"

    def set_version(self):
        header = load(self, f"{self.recipe_folder}/include/stretto/version.hpp")
        self.version = re.search(r'STRETTO_VERSION "(.*)"', header).group(1)

    def configure(self):
        self.package_type = "static-library" if self.options.with_compiled else "header-library"

    def layout(self):
        if self.options.with_compiled:
            cmake_layout(self)
        else:
            basic_layout(self)

    def requirements(self):
        if self.options.with_capture:
            self.requires("simdjson/[>=3.0 <5]", transitive_headers=True, transitive_libs=True)
            self.requires("zlib/[>=1.2.11 <2]", transitive_headers=True, transitive_libs=True)
        if self.options.with_boost_graph:
            self.requires("boost/[>=1.74 <2]", transitive_headers=True)
        if self.options.with_mpi:
            self.requires("openmpi/[>=4.1 <6]", transitive_headers=True, transitive_libs=True)
        if self.options.with_range_v3:
            self.requires("range-v3/[>=0.12 <1]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        # All headers are always packaged; an option only adds a component and its requirements. The library alone
        # depends on settings.
        if not self.info.options.with_compiled:
            self.info.clear()
            return
        self.info.requires.clear()
        for name in ("with_capture", "with_boost_graph", "with_host", "with_mpi", "with_range_v3"):
            self.info.options.rm_safe(name)
        self.info.options.rm_safe("with_cuda_nccl")

    def generate(self):
        if not self.options.with_compiled:
            return
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["STRETTO_BUILD_COMPILED"] = True
        for part in ("TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"STRETTO_BUILD_{part}"] = False
        toolchain.user_presets_path = False
        toolchain.generate()

    def build(self):
        if self.options.with_compiled:
            cmake = CMake(self)
            cmake.configure()
            cmake.build(target="stretto_compiled")

    def package(self):
        copy(self, "LICENSE", self.source_folder, f"{self.package_folder}/licenses")
        copy(self, "*.hpp", f"{self.source_folder}/include", f"{self.package_folder}/include")
        if self.options.with_compiled:
            for pattern in ("*.a", "*.lib"):
                copy(self, pattern, self.build_folder, f"{self.package_folder}/lib", keep_path=False)

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "stretto")
        self.cpp_info.bindirs = self.cpp_info.libdirs = []

        core = self.cpp_info.components["core"]
        core.set_property("cmake_target_name", "stretto::stretto")
        core.set_property("pkg_config_name", "stretto")
        core.bindirs = core.libdirs = []

        if self.options.with_capture:
            capture = self.cpp_info.components["capture"]
            capture.set_property("cmake_target_name", "stretto::capture")
            capture.requires = ["core", "simdjson::simdjson", "zlib::zlib"]
            capture.bindirs = capture.libdirs = []

        if self.options.with_boost_graph:
            boost_graph = self.cpp_info.components["boost_graph"]
            boost_graph.set_property("cmake_target_name", "stretto::boost_graph")
            boost_graph.requires = ["core", "boost::headers"]
            boost_graph.bindirs = boost_graph.libdirs = []

        if self.options.with_host or self.options.with_mpi:
            host = self.cpp_info.components["host"]
            host.set_property("cmake_target_name", "stretto::host")
            host.requires = ["core"]
            if self.settings.get_safe("os") in ("Linux", "FreeBSD"):
                host.system_libs = ["pthread"]
            host.bindirs = host.libdirs = []

        if self.options.with_mpi:
            mpi = self.cpp_info.components["mpi"]
            mpi.set_property("cmake_target_name", "stretto::mpi")
            mpi.requires = ["host", "openmpi::openmpi"]
            mpi.bindirs = mpi.libdirs = []

        if self.options.with_range_v3:
            range_v3 = self.cpp_info.components["range_v3"]
            range_v3.set_property("cmake_target_name", "stretto::range_v3")
            range_v3.requires = ["core", "range-v3::range-v3"]
            range_v3.bindirs = range_v3.libdirs = []

        if self.options.with_cuda_nccl:
            # No recipe has NCCL; the libraries are those of the system, on its paths or on CUDA's.
            cuda_nccl = self.cpp_info.components["cuda_nccl"]
            cuda_nccl.set_property("cmake_target_name", "stretto::cuda_nccl")
            cuda_nccl.requires = ["core"]
            cuda_nccl.system_libs = ["cudart", "nccl"]
            cuda_nccl.bindirs = cuda_nccl.libdirs = []

        if self.options.with_compiled:
            compiled = self.cpp_info.components["compiled"]
            compiled.set_property("cmake_target_name", "stretto::compiled")
            compiled.requires = ["core"]
            compiled.libs = ["stretto_compiled"]
            compiled.bindirs = []
            compiled.libdirs = ["lib"]
