//! Fuzz targets of every decoder; the bodies are ordinary functions.

pub mod bodies;
