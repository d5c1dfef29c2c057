//! Facade: the library users' entry
