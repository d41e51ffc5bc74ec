import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class StrettoTestConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # this folder is under version control
        toolchain.generate()

    @property
    def components(self):
        options = self.dependencies["stretto"].options
        return [name for name in ("capture", "boost_graph", "host", "mpi", "cuda_nccl", "range_v3", "compiled") if options.get_safe(f"with_{name}")]

    def build(self):
        cmake = CMake(self)
        cmake.configure(variables={"COMPONENTS": ";".join(self.components)})
        cmake.build()

    def test(self):
        if can_run(self):
            for program in ["consumer"] + [f"{name}_consumer" for name in self.components]:
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
