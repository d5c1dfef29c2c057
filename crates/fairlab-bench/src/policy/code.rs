//! Where the code of an object with one section per function lies: in the utilization functions, in
//! their callers, or in the tables for unwinding.

use object::{Object as _, ObjectSection as _, SectionKind};

/// Bytes of code and of what describes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// `cpu_util` and its relatives, as functions of their own.
    pub utilization: u64,
    /// All other functions.
    pub callers: u64,
    /// `.eh_frame`, which describes the frame of every function.
    pub unwinding: u64,
}

impl Code {
    /// Reads an ELF object.
    ///
    /// # Errors
    /// When `bytes` are none.
    pub fn of(bytes: &[u8]) -> Result<Self, object::Error> {
        let mut code = Self::default();
        for section in object::File::parse(bytes)?.sections() {
            let name = section.name().unwrap_or("");
            if name == ".eh_frame" {
                code.unwinding += section.size();
            } else if section.kind() == SectionKind::Text {
                *(if name.contains("cpu_util") {
                    &mut code.utilization
                } else {
                    &mut code.callers
                }) += section.size();
            }
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_has_no_code() {
        assert!(Code::of(b"").is_err());
    }
}
