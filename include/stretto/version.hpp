// Version of the library, for preprocessor checks and for tools that print it.
#ifndef STRETTO_VERSION_HPP
#define STRETTO_VERSION_HPP

#define STRETTO_VERSION_MAJOR 0
#define STRETTO_VERSION_MINOR 1
#define STRETTO_VERSION_PATCH 0
#define STRETTO_VERSION "0.1.0"

#endif
