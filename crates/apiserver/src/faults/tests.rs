//! Faults, in small.
