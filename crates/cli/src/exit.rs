//! How a command ended, as a script sees it.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    Fine = 0,
    /// Something was found, or differs.
    Found = 1,
    /// It failed, was refused, or nobody agreed to it.
    Failed = 2,
    Usage = 64,
}

impl Exit {
    pub(crate) fn found_if(is_found: bool) -> Self {
        if is_found { Self::Found } else { Self::Fine }
    }

    pub(crate) fn failed_if(has_failed: bool) -> Self {
        if has_failed { Self::Failed } else { Self::Fine }
    }

    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}
