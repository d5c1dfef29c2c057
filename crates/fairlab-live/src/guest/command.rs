//! The command `fairlab`, as its user runs it.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, setpriority_process};

use crate::watch::wait;

/// Where the host put it.
pub const COMMAND: &str = "/bin/fairlab";
/// An ordinary user.
const NOBODY: u32 = 65_534;

/// The command while it runs, in a folder of its own.
pub struct Running {
    child: Child,
    folder: String,
}

/// How it ended.
pub struct Done {
    /// Exit code; none after a signal, or when it had to be killed.
    pub code: Option<i32>,
    /// What it answered.
    pub out: String,
    /// What it said beside that.
    pub err: String,
    /// The files that it left where it was started.
    pub left: Vec<String>,
}

/// Who runs it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum User {
    Root,
    Nobody,
}

impl Running {
    /// Starts it; `number` keeps runs apart.
    pub fn start(number: u32, user: User, arguments: &[&str]) -> std::io::Result<Self> {
        let folder = format!("/tmp/run{number}");
        fs::create_dir_all(format!("{folder}/here"))?;
        let mut command = Command::new(COMMAND);
        command
            .args(arguments)
            .current_dir(format!("{folder}/here"))
            .stdin(Stdio::null())
            .stdout(File::create(format!("{folder}/out"))?)
            .stderr(File::create(format!("{folder}/err"))?);
        if user == User::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        let child = command.spawn()?;
        // Loading a program takes long on an emulated CPU, and longer beside busy tasks.
        let _ = setpriority_process(Pid::from_raw(child.id() as i32), -20);
        Ok(Self { child, folder })
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end; after `limit` it is killed.
    pub fn end(mut self, limit: Duration) -> Done {
        let ended = wait(limit, || self.has_ended());
        if ended.is_none() {
            let _ = self.child.kill();
        }
        let code = self.child.wait().ok().and_then(|exit| exit.code());
        let read = |name: &str| fs::read_to_string(Path::new(&self.folder).join(name));
        let left = fs::read_dir(format!("{}/here", self.folder)).into_iter();
        let left = left.flatten().flatten().map(|entry| entry.path());
        Done {
            code,
            out: read("out").unwrap_or_default(),
            err: read("err").unwrap_or_default(),
            left: left.map(|path| path.display().to_string()).collect(),
        }
    }
}

impl Done {
    /// Shows it on the serial line as a terminal would have shown it.
    pub fn print(&self, arguments: &[&str]) {
        println!("$ fairlab {}", arguments.join(" "));
        for line in self.err.lines().chain(self.out.lines()) {
            println!("| {line}");
        }
        println!("exit code {:?}", self.code);
    }
}

/// Runs it to its end and shows what it said.
pub fn run(number: u32, user: User, arguments: &[&str], limit: Duration) -> Option<Done> {
    let done = Running::start(number, user, arguments).ok()?.end(limit);
    done.print(arguments);
    Some(done)
}
