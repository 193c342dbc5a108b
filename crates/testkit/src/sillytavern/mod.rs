//! A real SillyTavern, started on loopback and used through its own HTTP API.
//!
//! Requests and responses are JSON *text*, because the tests compare bytes: a value that went
//! through our parser would prove nothing about the file that SillyTavern writes.
//!
//! ```no_run
//! use forklore_testkit::sillytavern::{Force, Server};
//!
//! let data_root = tempfile::tempdir().unwrap();
//! let server = Server::start(data_root.path());
//! let ada = server.api().create_character("Ada", "Hello.");
//! server.api().save_chat(&ada, "Story", &[r#"{"chat_metadata":{}}"#], Force::No).ok();
//! ```
//!
//! Name such tests `sillytavern_…`: nextest then runs one of them at a time
//! (`.config/nextest.toml`). Starting takes about four seconds, half a minute the first time;
//! [`Server::play`] lets many scenes share one server.

mod answer;
mod api;
mod body;
mod install;
mod seed;
mod server;
mod session;

pub use answer::Answer;
pub use api::{Api, Force, Metadata};
pub use seed::{Backups, Options};
pub use server::{Scene, Server};
