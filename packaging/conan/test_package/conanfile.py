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
    def programs(self):
        with_capture = self.dependencies["stretto"].options.with_capture
        return ["consumer", "capture_consumer"] if with_capture else ["consumer"]

    def build(self):
        cmake = CMake(self)
        cmake.configure(variables={"WITH_CAPTURE": "capture_consumer" in self.programs})
        cmake.build()

    def test(self):
        if can_run(self):
            for program in self.programs:
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
