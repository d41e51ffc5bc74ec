// Trains a small mixture-of-experts transformer, and hides its communication. session.hpp documents what it does.
#include "session.hpp"

int main(int argc, char** argv) {
    const trainer::parsed_arguments a = trainer::parse(argc, argv);
    return a.status >= 0 ? a.status : trainer::run_session(a.made);
}
