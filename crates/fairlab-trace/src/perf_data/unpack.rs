//! Compressed records: pieces of one zstd stream, in which records follow each other.

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// Bytes that are unpacked at once.
const AT_ONCE: usize = 256 * 1024;

/// The stream of one file.
pub(super) struct Unpacker {
    decoder: Option<Decoder<'static>>,
    /// Unpacked bytes that are not used yet.
    pub bytes: Vec<u8>,
}

impl Unpacker {
    pub(super) fn new() -> Self {
        Self {
            decoder: None,
            bytes: Vec::new(),
        }
    }

    /// Unpacks on, and appends to `bytes`; takes what it used off `packed`. May stop before all is
    /// used, so that a small record cannot become a large memory; call again then. `None` when the
    /// stream is broken.
    pub(super) fn unpack(&mut self, packed: &mut &[u8]) -> Option<()> {
        if self.decoder.is_none() {
            self.decoder = Decoder::new().ok();
        }
        let decoder = self.decoder.as_mut()?;
        let start = self.bytes.len();
        self.bytes.resize(start + AT_ONCE, 0);
        let had_input = !packed.is_empty();
        let mut input = InBuffer::around(packed);
        let mut output = OutBuffer::around(&mut self.bytes[start..]);
        let result = decoder.run(&mut input, &mut output);
        let (used, made) = (input.pos(), output.pos());
        self.bytes.truncate(start + made);
        *packed = packed.get(used..).unwrap_or_default();
        if result.is_err() || (had_input && used == 0 && made == 0) {
            self.decoder = None;
            return None;
        }
        Some(())
    }

    /// Did the last call fill its output, so that more may follow without new input?
    pub(super) fn is_full(&self, before: usize) -> bool {
        self.bytes.len() - before == AT_ONCE
    }
}
