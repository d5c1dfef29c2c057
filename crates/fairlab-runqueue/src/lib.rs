//! The fair runqueue: CFS and EEVDF
