//! Hash suites, SP 800-185 functions, keyed BLAKE2Xb and every domain tag of Horizon.
