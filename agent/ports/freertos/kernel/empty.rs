//! Nothing: cargo wants a library to hang the dependency on.
