//! The Pulsar lattice threshold signature: key generation, signing, verification.
