//! Development support: seeded randomness, statistics, secret marking.
