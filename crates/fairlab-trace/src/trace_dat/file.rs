//! Writing a file of version 6, which every trace-cmd and KernelShark reads.

use std::io::{self, Read, Seek, SeekFrom, Write};

use super::{MAGIC, options};

/// What a file says beside the events; all of it as the kernel's tracefs has it.
#[derive(Clone, Debug, Default)]
pub struct TraceDatFile {
    /// Bytes of a page of the ring buffer.
    pub page_size: u32,
    /// `events/header_page`.
    pub header_page: Vec<u8>,
    /// `events/header_event`.
    pub header_event: Vec<u8>,
    /// The `format` files of `events/ftrace`.
    pub ftrace_formats: Vec<Vec<u8>>,
    /// By system: the `format` files of its events.
    pub systems: Vec<(String, Vec<Vec<u8>>)>,
    /// `printk_formats`.
    pub printk_formats: Vec<u8>,
    /// Lines of a task's number and its name, as `saved_cmdlines`.
    pub cmdlines: Vec<u8>,
    /// `trace_clock`: all clocks, the chosen one in brackets.
    pub clocks: String,
    /// `Linux`, host, release, version, architecture.
    pub uname: String,
    /// What recorded, with its version.
    pub tool: String,
    /// For each CPU, the text of its `stats` with a line `CPU: N` before it.
    pub stats: Vec<String>,
    /// See [`crate::Metadata::snapshot`].
    pub snapshot: Option<Vec<u8>>,
}

/// The pages of one CPU.
pub struct CpuPages<R> {
    /// Whole pages.
    pub pages: R,
    /// How many bytes there are.
    pub size: u64,
}

/// A position for what is only known later.
const LATER: [u8; 16] = [0; 16];

impl TraceDatFile {
    /// Writes the file; `cpus` has an entry for each CPU from 0 on, an empty one for those without
    /// events.
    ///
    /// # Errors
    /// Those of `out` and of the pages; and when pages are fewer than they say.
    pub fn write<R: Read>(
        &self,
        out: &mut (impl Write + Seek),
        cpus: Vec<CpuPages<R>>,
    ) -> io::Result<()> {
        let mut head = Vec::new();
        self.put_description(&mut head);
        head.extend((cpus.len() as u32).to_ne_bytes());
        self.put_options(&mut head, cpus.len());
        head.extend(b"flyrecord\0");
        let table = head.len() as u64;
        for _ in &cpus {
            head.extend(LATER);
        }
        out.write_all(&head)?;
        let page_size = u64::from(self.page_size.max(1));
        let mut end = head.len() as u64;
        let mut places = Vec::new();
        for CpuPages { pages, size } in cpus {
            // Pages begin at multiples of their size, so that readers can map them.
            let start = end.next_multiple_of(page_size);
            io::copy(&mut io::repeat(0).take(start - end), out)?;
            let copied = io::copy(&mut pages.take(size), out)?;
            if copied != size {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    format!("{copied} bytes of pages where {size} were promised"),
                ));
            }
            places.extend(start.to_ne_bytes());
            places.extend(size.to_ne_bytes());
            end = start + size;
        }
        out.seek(SeekFrom::Start(table))?;
        out.write_all(&places)?;
        out.seek(SeekFrom::End(0))?;
        out.flush()
    }

    fn put_description(&self, out: &mut Vec<u8>) {
        out.extend(MAGIC);
        out.extend(b"6\0");
        out.push(u8::from(cfg!(target_endian = "big")));
        out.push(size_of::<usize>() as u8);
        out.extend(self.page_size.to_ne_bytes());
        for (name, text) in [
            ("header_page", &self.header_page),
            ("header_event", &self.header_event),
        ] {
            put_string(out, name);
            put_sized(out, text);
        }
        put_formats(out, &self.ftrace_formats);
        out.extend((self.systems.len() as u32).to_ne_bytes());
        for (name, formats) in &self.systems {
            put_string(out, name);
            put_formats(out, formats);
        }
        // No symbols of the kernel: scheduling events have no addresses.
        out.extend(0u32.to_ne_bytes());
        out.extend((self.printk_formats.len() as u32).to_ne_bytes());
        out.extend(&self.printk_formats);
        put_sized(out, &self.cmdlines);
    }

    fn put_options(&self, out: &mut Vec<u8>, nr_cpus: usize) {
        out.extend(b"options  \0");
        for text in &self.stats {
            put_option(out, options::CPUSTAT, &[text.as_bytes(), &[0]]);
        }
        put_option(out, options::TRACECLOCK, &[self.clocks.as_bytes(), &[0]]);
        put_option(out, options::UNAME, &[self.uname.as_bytes(), &[0]]);
        put_option(out, options::CPUCOUNT, &[&(nr_cpus as u32).to_ne_bytes()]);
        let ours = |out: &mut Vec<u8>, word: &str, data: &[u8]| {
            put_option(out, options::FAIRLAB, &[word.as_bytes(), &[0], data]);
        };
        ours(out, options::TOOL, self.tool.as_bytes());
        if let Some(snapshot) = &self.snapshot {
            ours(out, options::SNAPSHOT, snapshot);
        }
        out.extend(options::DONE.to_ne_bytes());
    }
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    out.extend(text.as_bytes());
    out.push(0);
}

fn put_sized(out: &mut Vec<u8>, data: &[u8]) {
    out.extend((data.len() as u64).to_ne_bytes());
    out.extend(data);
}

fn put_formats(out: &mut Vec<u8>, formats: &[Vec<u8>]) {
    out.extend((formats.len() as u32).to_ne_bytes());
    for format in formats {
        put_sized(out, format);
    }
}

fn put_option(out: &mut Vec<u8>, id: u16, parts: &[&[u8]]) {
    let size: usize = parts.iter().map(|part| part.len()).sum();
    out.extend(id.to_ne_bytes());
    out.extend((size as u32).to_ne_bytes());
    for part in parts {
        out.extend(*part);
    }
}
