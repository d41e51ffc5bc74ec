from conan import ConanFile
from conan.tools.system import package_manager


class SystemBoostConan(ConanFile):
    """The headers of Boost as the operating system has them, for machines without a Conan remote."""

    name = "boost"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"

    def system_requirements(self):
        package_manager.Apt(self).install(["libboost-dev"])

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Boost")
        headers = self.cpp_info.components["headers"]
        headers.set_property("cmake_target_name", "Boost::headers")
        headers.includedirs = headers.libdirs = headers.bindirs = []
