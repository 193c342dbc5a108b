//! Shared tools for Forklore's tests. Only ever a dev-dependency.

pub mod cases;
pub mod json_text;
pub mod hostile_names;
pub mod damage;
pub mod fixed_clock;
pub mod tree;
pub mod scene;
pub mod faulty;
#[cfg(target_os = "linux")]
pub mod power;
pub mod story;
pub mod fuzz;
#[cfg(unix)]
pub mod sillytavern;
