from conan import ConanFile
from conan.tools.gnu import PkgConfig
from conan.tools.system import package_manager


class SystemOpenMpiConan(ConanFile):
    """Open MPI as the operating system has it, for machines without a Conan remote."""

    name = "openmpi"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    def system_requirements(self):
        package_manager.Apt(self).install(["libopenmpi-dev"])

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "OpenMPI")
        self.cpp_info.set_property("cmake_target_name", "openmpi::openmpi")
        self.cpp_info.includedirs = self.cpp_info.libdirs = self.cpp_info.bindirs = []
        PkgConfig(self, "ompi-c").fill_cpp_info(self.cpp_info, is_system=True)
