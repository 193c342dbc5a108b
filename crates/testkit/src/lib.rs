//! What Forklore's tests stand on. A dev-dependency, never a normal one.

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
