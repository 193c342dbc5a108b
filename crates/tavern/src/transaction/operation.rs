//! Operations: a record of the changes, written before they are made, so that they can be undone.

use std::path::{Path, PathBuf};

use forklore_core::digest::Digest;
use forklore_json::{Indent, Json, Object};

/// One operation, as stored in `operations/<id>.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    pub id: u64,
    /// The command that performed it.
    pub command: String,
    /// A one-sentence description.
    pub summary: String,
    pub when: String,
    pub steps: Vec<OperationStep>,
}

/// One change to one file. Paths are relative to the data root.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationStep {
    pub path: String,
    /// The file's digest before the step, or `None` if it did not exist.
    pub before: Option<Digest>,
    pub after: Option<Digest>,
}

impl Operation {
    pub fn to_bytes(&self) -> Vec<u8> {
        let steps: Vec<Json> = self
            .steps
            .iter()
            .map(|step| {
                Json::object([
                    ("path", Json::from(step.path.as_str())),
                    ("before", Json::from(step.before.map(|digest| digest.to_string()))),
                    ("after", Json::from(step.after.map(|digest| digest.to_string()))),
                ])
            })
            .collect();
        let mut json = Object::new();
        json.insert("format", 1_i64);
        json.insert("id", self.id as usize);
        json.insert("command", self.command.as_str());
        json.insert("summary", self.summary.as_str());
        json.insert("when", self.when.as_str());
        json.insert("steps", Json::Array(steps));
        Json::Object(json).stringify_with(Indent::BOOK)
    }

    pub fn read(bytes: &[u8]) -> Option<Self> {
        let json = Json::parse(bytes).ok()?;
        let text = |key: &str| Some(json.get(key)?.as_str()?.into_owned());
        let steps = json.get("steps")?.as_array()?.iter().map(|step| {
            let digest = |key: &str| match step.get(key)? {
                Json::Null => Some(None),
                digest => Some(Some(Digest::parse(&digest.as_str()?)?)),
            };
            let path = step.get("path")?.as_str()?.into_owned();
            Some(OperationStep { path, before: digest("before")?, after: digest("after")? })
        });
        Some(Self {
            id: json.get("id")?.as_usize()? as u64,
            command: text("command")?,
            summary: text("summary")?,
            when: text("when")?,
            steps: steps.collect::<Option<_>>()?,
        })
    }
}

/// Where operation records and displaced files are stored, inside Forklore's folder for the user.
#[derive(Clone, Debug)]
pub struct OperationFolders {
    ours: PathBuf,
}

impl OperationFolders {
    pub fn new(ours: &Path) -> Self {
        Self { ours: ours.to_owned() }
    }

    pub fn operations(&self) -> PathBuf {
        self.ours.join("operations")
    }

    pub fn record(&self, id: u64) -> PathBuf {
        self.operations().join(format!("{id:08}.json"))
    }

    /// A marker file: the operation was undone if it exists.
    pub fn undone(&self, id: u64) -> PathBuf {
        self.operations().join(format!("{id:08}.undone"))
    }

    pub fn all_trash(&self) -> PathBuf {
        self.ours.join("trash")
    }

    pub fn trash(&self, id: u64) -> PathBuf {
        self.all_trash().join(format!("{id:08}"))
    }

    /// The file that step `step` displaced.
    pub fn displaced(&self, id: u64, step: usize) -> PathBuf {
        self.trash(id).join(step.to_string())
    }

    /// The file that step `step` had created, after it was undone.
    pub fn unmade(&self, id: u64, step: usize) -> PathBuf {
        self.trash(id).join(format!("{step}-unmade"))
    }
}

/// The tag for the temporary file of a step.
pub fn tag(id: u64, step: usize) -> String {
    format!("{id:08}-{step}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back() {
        let operation = Operation {
            id: 7,
            command: "restore".into(),
            summary: "put \"B\" back".into(),
            when: "2026-11-15T00:00:00.000Z".into(),
            steps: vec![OperationStep {
                path: "u/worlds/B.json".into(),
                before: Some(Digest::of(b"x")),
                after: None,
            }],
        };
        assert_eq!(Operation::read(&operation.to_bytes()), Some(operation));
        assert_eq!(Operation::read(b"{}"), None);
    }
}
