//! The Common Trace Format 1.8: LTTng's kernel tracer, and `perf data convert --to-ctf`.
//!
//! A trace is a folder: `metadata`, a description in a language of its own, and files of packets. The
//! description says what a packet's and an event's parts are, to the bit.

mod bits;
mod lexer;
mod parser;
mod plan;
mod stream;
mod types;

use std::rc::Rc;

use crate::context::Context;
use crate::detect::Opened;
use crate::error::OpenError;
use crate::merge::Merge;
use crate::metadata::{Format, Metadata};
use crate::source::Source;

use stream::FileStream;
use types::Trace;

/// Largest description; LTTng's has some hundreds of KB.
const LARGEST_METADATA: u64 = 64 << 20;

/// The folders among `files` that are CTF traces: paths of their descriptions without the name.
fn roots(files: &[(String, Source)]) -> Vec<&str> {
    files
        .iter()
        .filter_map(|(path, _)| path.strip_suffix("metadata"))
        .filter(|root| root.is_empty() || root.ends_with('/'))
        .collect()
}

/// Is there a CTF trace?
pub(crate) fn is_ctf(files: &[(String, Source)]) -> bool {
    !roots(files).is_empty()
}

/// Opens all traces of a folder or archive as one.
pub(crate) fn open(
    name: &str,
    files: &[(String, Source)],
    ctx: &mut Context,
) -> Result<Opened, OpenError> {
    let mut streams = Vec::new();
    let mut metadata: Option<Metadata> = None;
    let mut failure = None;
    for root in roots(files) {
        let in_folder = |path: &str| {
            path.strip_prefix(root)
                .filter(|rest| !rest.contains('/'))
                .map(str::to_owned)
        };
        let Some((_, description)) = files
            .iter()
            .find(|(path, _)| in_folder(path).as_deref() == Some("metadata"))
        else {
            continue;
        };
        let text = description_text(&description.bytes(0, LARGEST_METADATA));
        let (trace, problem) = parser::parse(&text);
        if let Some(problem) = problem {
            ctx.ledger.problem(description.name(), problem.clone());
            failure = failure.or(Some(problem));
        }
        if trace.events.is_empty() {
            continue;
        }
        let about = about(&trace);
        if metadata.is_none() || about.kernel_release.is_some() {
            metadata = Some(about);
        }
        let events = FileStream::plans(&trace, ctx);
        let trace = Rc::new(trace);
        for (path, source) in files {
            let Some(file) = in_folder(path) else {
                continue;
            };
            if file == "metadata" || file.starts_with('.') || source.len() == 0 {
                continue;
            }
            streams.push(FileStream::new(
                source.clone(),
                trace.clone(),
                events.clone(),
            ));
        }
    }
    let Some(metadata) = metadata else {
        return Err(OpenError::Broken {
            name: name.to_owned(),
            format: Format::Ctf,
            what: failure.unwrap_or_else(|| "`metadata` describes no event".into()),
        });
    };
    Ok(Opened {
        reader: Box::new(Merge::new(streams)),
        format: Format::Ctf,
        metadata,
    })
}

/// The text of a description, which may come in packets.
fn description_text(bytes: &[u8]) -> String {
    const MAGIC: u32 = 0x75d1_1d57;
    const HEADER: usize = 37;
    let is_big = bytes.starts_with(&MAGIC.to_be_bytes());
    if !is_big && !bytes.starts_with(&MAGIC.to_le_bytes()) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let endian = crate::endian::Endian { is_big };
    let mut text = String::new();
    let mut rest = bytes;
    while let (Some(content), Some(packet)) = (endian.u32(rest, 24), endian.u32(rest, 28)) {
        // Both are in bits and count the header.
        let (content, packet) = (content as usize / 8, packet as usize / 8);
        if packet < HEADER || endian.u32(rest, 0) != Some(MAGIC) {
            break;
        }
        let end = content.min(rest.len());
        text.push_str(&String::from_utf8_lossy(
            rest.get(HEADER..end).unwrap_or_default(),
        ));
        rest = rest.get(packet..).unwrap_or_default();
    }
    text
}

/// What the description's environment says.
fn about(trace: &Trace) -> Metadata {
    let env = |name: &str| {
        trace
            .env
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.clone())
            .filter(|value| !value.is_empty())
    };
    let tool = env("tracer_name").map(|tracer| {
        let numbers: Vec<String> = ["tracer_major", "tracer_minor", "tracer_patchlevel"]
            .iter()
            .filter_map(|part| env(part))
            .collect();
        match env("version").filter(|_| numbers.is_empty()) {
            Some(version) => format!("{tracer} {version}"),
            None => format!("{tracer} {}", numbers.join(".")).trim().to_owned(),
        }
    });
    Metadata {
        kernel_release: env("kernel_release").or_else(|| env("release")),
        kernel_version: env("kernel_version"),
        arch: env("machine").or_else(|| env("architecture_bit_width")),
        hostname: env("hostname").or_else(|| env("host")),
        clock: trace.clocks.first().map(|clock| clock.name.clone()),
        tool,
        is_big_endian: Some(trace.is_big_endian),
        ..Metadata::default()
    }
}
