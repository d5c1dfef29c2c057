//! Which format it is, by content.

use crate::context::{Context, Reader};
use crate::ctf;
use crate::error::OpenError;
use crate::metadata::{Format, Metadata};
use crate::perf_data;
use crate::perfetto;
use crate::schedviz;
use crate::source::Source;
use crate::text;
use crate::trace_dat;
use crate::unwrap::Input;

/// A reader with what is known before the first event.
pub(crate) struct Opened {
    pub reader: Box<dyn Reader>,
    pub format: Format,
    pub metadata: Metadata,
}

/// Opens the right reader.
pub(crate) fn open_reader(
    name: &str,
    input: &Input,
    ctx: &mut Context,
) -> Result<Opened, OpenError> {
    match input {
        Input::One(source) => open_file(source, ctx),
        Input::Tree(files) => open_tree(name, files, ctx),
        Input::Together(sources) => open_together(name, sources, ctx),
    }
}

fn open_file(source: &Source, ctx: &mut Context) -> Result<Opened, OpenError> {
    let head = source.bytes(0, 4096);
    let unknown = |what: String| OpenError::Unknown {
        name: source.name().to_owned(),
        what,
    };
    if head.is_empty() {
        return Err(unknown("the file is empty".into()));
    }
    if head.starts_with(trace_dat::MAGIC) {
        return trace_dat::open(source, ctx);
    }
    if perf_data::is_perf_data(&head) {
        return perf_data::open(source, ctx);
    }
    if perfetto::is_perfetto(&head, source.len()) {
        return perfetto::open(source, ctx);
    }
    if looks_like_text(&head) {
        return text::open(source, ctx);
    }
    let shown: Vec<String> = head
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Err(unknown(format!("it begins with {}", shown.join(" "))))
}

fn open_tree(
    name: &str,
    files: &[(String, Source)],
    ctx: &mut Context,
) -> Result<Opened, OpenError> {
    if let [(_, only)] = files {
        return open_file(only, ctx);
    }
    if ctf::is_ctf(files) {
        return ctf::open(name, files, ctx);
    }
    if schedviz::is_schedviz(files) {
        return schedviz::open(name, files, ctx);
    }
    let perf = files.iter().find(|(path, source)| {
        last_part(path) == "data" && perf_data::is_perf_data(&source.bytes(0, 8))
    });
    if let Some((_, main)) = perf {
        let others: Vec<Source> = files
            .iter()
            .filter(|(path, _)| last_part(path).starts_with("data."))
            .map(|(_, source)| source.clone())
            .collect();
        return perf_data::open_folder(main, &others, ctx);
    }
    Err(OpenError::Unknown {
        name: name.to_owned(),
        what: format!("{} files, and no `metadata` among them", files.len()),
    })
}

/// Opens several files of one recording.
fn open_together(name: &str, sources: &[Source], ctx: &mut Context) -> Result<Opened, OpenError> {
    if let Some(other) = sources
        .iter()
        .find(|source| !perf_data::is_perf_data(&source.bytes(0, 8)))
    {
        return Err(OpenError::Unknown {
            name: name.to_owned(),
            what: format!(
                "several files are merged only when all of them are perf.data, and {} is not",
                other.name()
            ),
        });
    }
    perf_data::open_many(sources, ctx)
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Is it text? Names of tasks may hold any byte, so a few odd ones are no proof.
fn looks_like_text(head: &[u8]) -> bool {
    let odd = head
        .iter()
        .filter(|&&byte| byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x1b))
        .count();
    !head.contains(&0) && odd * 50 <= head.len()
}
