//! Facade: the library users' entry

pub use fairlab_kernel as kernel;
