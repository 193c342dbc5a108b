//! How a command ended, as scripts see it.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    Fine,
    /// Found a problem or a difference.
    Found,
    /// Failed, was refused, or was not confirmed.
    Failed,
    Usage,
    /// The exit code of another program, passed through.
    Passed(u8),
}

impl Exit {
    pub(crate) fn found_if(is_found: bool) -> Self {
        if is_found { Self::Found } else { Self::Fine }
    }

    pub(crate) fn failed_if(has_failed: bool) -> Self {
        if has_failed { Self::Failed } else { Self::Fine }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Found => 1,
            Self::Failed => 2,
            Self::Usage => 64,
            Self::Passed(code) => code,
        }
    }
}
