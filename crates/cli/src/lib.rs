//! The horizon command line.
