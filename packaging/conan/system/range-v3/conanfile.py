from conan import ConanFile
from conan.tools.system import package_manager


class SystemRangeV3Conan(ConanFile):
    """range-v3 as the operating system has it, for machines without a Conan remote."""

    name = "range-v3"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"

    def system_requirements(self):
        package_manager.Apt(self).install(["librange-v3-dev"])

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "range-v3")
        self.cpp_info.set_property("cmake_target_name", "range-v3::range-v3")
        self.cpp_info.includedirs = self.cpp_info.libdirs = self.cpp_info.bindirs = []
