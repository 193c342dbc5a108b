//! Adding versions: of one file, of a whole folder, and of files that disappeared.

pub mod missing_files;
pub mod recorder;
pub mod scan;
