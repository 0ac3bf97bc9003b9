//! The `horizon` command.

fn main() {}
