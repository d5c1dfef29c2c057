//! The pages of one CPU, from the kernel into a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::RecordError;

/// How long a reader sleeps when its buffer is neither half full nor at its end.
const NAP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Takes pages off a buffer until told to stop.
pub(crate) struct PageReader {
    from: File,
    path: PathBuf,
    into: File,
    page: Vec<u8>,
}

/// The pages that were taken.
pub(crate) struct Pages {
    pub(crate) file: File,
    pub(crate) size: u64,
}

impl PageReader {
    /// Opens `trace_pipe_raw`. Pages go to a file beside `output` that has no name, so nothing is left of
    /// it whatever happens.
    pub(crate) fn open(
        trace_pipe_raw: PathBuf,
        output: &Path,
        cpu: u32,
        page_size: usize,
    ) -> Result<Self, RecordError> {
        let from = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(&trace_pipe_raw)
            .map_err(RecordError::file("read", &trace_pipe_raw))?;
        let mut name = output.as_os_str().to_owned();
        name.push(format!(".{}-cpu{cpu}", std::process::id()));
        let into = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&name)
            .and_then(|file| std::fs::remove_file(&name).map(|()| file))
            .map_err(RecordError::file("create", &name))?;
        Ok(Self {
            from,
            path: trace_pipe_raw,
            into,
            page: vec![0; page_size],
        })
    }

    /// Reads until `is_over`, and then what is left.
    pub(crate) fn run(mut self, is_over: &AtomicBool) -> Result<Pages, RecordError> {
        let mut size = 0;
        loop {
            // Asked before the buffer is emptied: what came before the end is all taken.
            let is_last = is_over.load(Ordering::Acquire);
            while self.take()? {
                size += self.page.len() as u64;
            }
            if is_last {
                break;
            }
            let _ = poll(&mut [PollFd::new(&self.from, PollFlags::IN)], Some(&NAP));
        }
        let path = self.path;
        self.into
            .seek(SeekFrom::Start(0))
            .map_err(RecordError::file("read back the pages of", path))?;
        Ok(Pages {
            file: self.into,
            size,
        })
    }

    /// Takes one page; false when there is none.
    fn take(&mut self) -> Result<bool, RecordError> {
        match self.from.read(&mut self.page) {
            Ok(0) => Ok(false),
            Ok(size) => {
                // Pages that are not full may come short.
                self.page[size..].fill(0);
                self.into
                    .write_all(&self.page)
                    .map_err(RecordError::file("keep the pages of", &self.path))?;
                Ok(true)
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                Ok(false)
            }
            // CPUs that are offline have a buffer and nothing in it.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
                Ok(false)
            }
            Err(error) => Err(RecordError::file("read", &self.path)(error)),
        }
    }
}
