//! Single kinds.
