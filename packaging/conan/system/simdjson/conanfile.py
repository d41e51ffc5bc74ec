from conan import ConanFile
from conan.tools.system import package_manager


class SystemSimdjsonConan(ConanFile):
    """simdjson as the operating system has it, for machines without a Conan remote."""

    name = "simdjson"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    def system_requirements(self):
        package_manager.Apt(self).install(["libsimdjson-dev"])

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "simdjson")
        self.cpp_info.set_property("cmake_target_name", "simdjson::simdjson")
        self.cpp_info.includedirs = self.cpp_info.libdirs = self.cpp_info.bindirs = []
        self.cpp_info.system_libs = ["simdjson"]
