//! What Forklore's tests stand on. A dev-dependency, never a normal one.

pub mod sillytavern;
