//! Rows of `perf sched map`: who runs on each CPU, a column per CPU, a star where it changed.
//!
//! ```text
//!   *L0  O1  .   Q0   23002.773523 secs
//!    L0  O1  .  *T1   23002.773547 secs T1 => irqbalance:2089
//! ```

use std::collections::BTreeMap;

use super::number;
use crate::context::Context;
use crate::raw::{NONE, RawEvent, RawKind};

/// Tasks whose number the text does not give get one from here on, which no kernel uses.
const FIRST_INVENTED: u32 = 1 << 31;

/// What is known from the rows so far.
#[derive(Default)]
pub(super) struct Map {
    tasks: BTreeMap<Vec<u8>, u32>,
    invented: u32,
}

/// Is the line a row?
fn parts(line: &[u8]) -> Option<(&[u8], u64, &[u8])> {
    let at = memchr::memmem::find(line, b" secs")?;
    let before = line[..at].trim_ascii_end();
    let start = before
        .iter()
        .rposition(u8::is_ascii_whitespace)
        .map_or(0, |at| at + 1);
    let time = number::time(&before[start..])?;
    let columns = &before[..start];
    columns
        .contains(&b'*')
        .then_some((columns, time, line[at + 5..].trim_ascii()))
}

/// Does the text have such rows?
pub(super) fn is_map(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n')
        .take(50)
        .any(|line| parts(line).is_some())
}

impl Map {
    /// The number of the task that a column calls so.
    fn task(&mut self, word: &[u8], ctx: &mut Context) -> u32 {
        if matches!(word, b"." | b"-") {
            return 0;
        }
        if let Some(&pid) = self.tasks.get(word) {
            return pid;
        }
        let pid = FIRST_INVENTED + self.invented;
        self.invented += 1;
        if self.invented == 1 {
            ctx.ledger.note(
                "tasks that the text names by letters alone have invented numbers, from 2147483648 on",
            );
        }
        if self.tasks.len() < 1 << 16 {
            self.tasks.insert(word.to_vec(), pid);
        }
        ctx.list(pid, word);
        pid
    }

    /// Reads a row; `None` when the line is none.
    pub(super) fn row(
        &mut self,
        line: &[u8],
        ctx: &mut Context,
        out: &mut Vec<RawEvent>,
    ) -> Option<()> {
        let (columns, time, legend) = parts(line)?;
        // `T1 => irqbalance:2089`
        if let Some(arrow) = memchr::memmem::find(legend, b" => ") {
            let (word, task) = (&legend[..arrow], &legend[arrow + 4..]);
            if let Some(colon) = memchr::memrchr(b':', task)
                && let Some(pid) = number::whole(task[colon + 1..].trim_ascii())
                && let Ok(pid) = u32::try_from(pid)
            {
                self.tasks.insert(word.trim_ascii().to_vec(), pid);
                if pid != 0 {
                    ctx.list(pid, &task[..colon]);
                }
            }
        }
        let words = columns
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        for (cpu, word) in words.enumerate().take(1 << 14) {
            let cpu = cpu as u32;
            let (is_switch, word) = match word.strip_prefix(b"*") {
                Some(word) => (true, word),
                None => (false, word),
            };
            let pid = self.task(word, ctx);
            let mut event = RawEvent::new(time, cpu, RawKind::Named);
            // The text says who runs, not who ran: the reader's books say that.
            event.current = pid;
            event.b = pid;
            if pid != 0 {
                event.b_name = ctx.tasks.get(pid).name;
            }
            if is_switch {
                let id = ctx.counts.id("sched_switch", true);
                ctx.counts.add(id);
            } else if pid == NONE {
                continue;
            }
            out.push(event);
        }
        Some(())
    }
}
