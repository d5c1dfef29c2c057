//! Why and how the scheduler ended, as the kernel says it.

/// Why the scheduler ended. Mirrors `struct exit_report` of the shim.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ExitReport {
    code: i64,
    kind: u32,
    reserved: u32,
    reason: [u8; 128],
    message: [u8; 1024],
}

impl ExitReport {
    /// What it says; none while the scheduler runs.
    pub(crate) fn ended(&self) -> Option<Ended> {
        (self.kind != 0).then(|| Ended {
            kind: self.kind,
            code: self.code,
            reason: text(&self.reason),
            message: text(&self.message),
        })
    }
}

/// Why the kernel took scheduling back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// `enum scx_exit_kind`.
    pub kind: u32,
    /// `exit_code`.
    pub code: i64,
    /// The kernel's reason.
    pub reason: String,
    /// Its details.
    pub message: String,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)?;
        if self.message.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", self.message)
    }
}

impl Ended {
    /// Does the kernel, or the scheduler itself, ask for a new start, because of CPUs that came or went
    /// (`SCX_ECODE_ACT_RESTART`)?
    #[must_use]
    pub const fn asks_for_restart(&self) -> bool {
        self.code as u64 & (1 << 48) != 0
    }
}

/// A text of the kernel, which ends with a zero.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
