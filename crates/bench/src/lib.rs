//! Benchmarks and their report.
