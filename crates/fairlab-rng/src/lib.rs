//! One seeded, integer-only random generator with a named stream per use
