// Trains a small mixture-of-experts transformer, on ranks that are threads, and hides its communication.
#include "session.hpp"

int main(int argc, char** argv) {
    const trainer::parsed_arguments a = trainer::parse(argc, argv);
    return a.status >= 0 ? a.status : trainer::run_session(a.made);
}
