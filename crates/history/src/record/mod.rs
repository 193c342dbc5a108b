//! Adding versions: of one file, of a whole folder, and what has gone from there.

pub mod missing_files;
pub mod recorder;
pub mod scan;
