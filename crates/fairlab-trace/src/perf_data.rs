//! `perf.data` of `perf record` and `perf sched record`, from a file or a pipe.
//!
//! A file is a header, descriptions of what was recorded (attributes), records in the order in which
//! perf emptied its buffers, and sections with facts about the machine. A pipe has the same facts as
//! records between the others.

mod attr;
mod decode;
mod features;
mod header;
mod inbox;
mod lane;
mod record;
mod rounds;
mod stream;
mod unpack;

use std::rc::Rc;

use crate::context::{Context, Reader};
use crate::detect::Opened;
use crate::error::OpenError;
use crate::merge::{Merge, Stream};
use crate::metadata::Format;
use crate::source::Source;

use header::Header;
use stream::PerfStream;

/// Does a file that begins with `head` look like one?
pub(crate) fn is_perf_data(head: &[u8]) -> bool {
    head.starts_with(b"PERFILE2") || head.starts_with(b"2ELIFREP")
}

/// Opens a file.
pub(crate) fn open(source: &Source, ctx: &mut Context) -> Result<Opened, OpenError> {
    let (stream, metadata) = stream(source, ctx)?;
    Ok(Opened {
        reader: Box::new(Alone(stream)),
        format: Format::PerfData,
        metadata,
    })
}

/// Opens several files of one recording. Facts about the machine come from the first.
pub(crate) fn open_many(sources: &[Source], ctx: &mut Context) -> Result<Opened, OpenError> {
    let mut streams = Vec::new();
    let mut metadata = None;
    for source in sources {
        let (stream, found) = stream(source, ctx)?;
        streams.push(stream);
        metadata = metadata.or(Some(found));
    }
    Ok(Opened {
        reader: Box::new(Merge::new(streams)),
        format: Format::PerfData,
        metadata: metadata.unwrap_or_default(),
    })
}

/// Opens the folder that `perf record --threads` makes: `data` with the header, `data.0` ... with
/// records alone.
pub(crate) fn open_folder(
    main: &Source,
    others: &[Source],
    ctx: &mut Context,
) -> Result<Opened, OpenError> {
    let header = Header::read(main, ctx)?;
    let metadata = header.metadata.clone();
    let description = Rc::new(header.description);
    let data = main.slice(header.data_offset, header.data_size);
    let mut streams = vec![PerfStream::new(data, description.clone(), ctx)];
    for other in others {
        streams.push(PerfStream::new(other.clone(), description.clone(), ctx));
    }
    Ok(Opened {
        reader: Box::new(Merge::new(streams)),
        format: Format::PerfData,
        metadata,
    })
}

fn stream(
    source: &Source,
    ctx: &mut Context,
) -> Result<(PerfStream, crate::metadata::Metadata), OpenError> {
    let header = Header::read(source, ctx)?;
    let data = source.slice(header.data_offset, header.data_size);
    let stream = PerfStream::new(data, Rc::new(header.description), ctx);
    Ok((stream, header.metadata))
}

/// One stream needs no merging.
struct Alone(PerfStream);

impl Reader for Alone {
    fn fill(&mut self, ctx: &mut Context) -> bool {
        let mut ready = std::mem::take(&mut ctx.ready);
        let has_more = self.0.refill(ctx, &mut ready);
        ctx.ready = ready;
        has_more
    }
}
