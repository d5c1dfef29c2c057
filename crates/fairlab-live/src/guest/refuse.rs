//! What the command cannot do here, it says, with what to do about it; and it leaves nothing behind.

use std::fs;
use std::time::Duration;

use fairlab_live::{OBJECT, Program};
use object::{Object, ObjectSection};
use rustix::process::Signal;
use serde_json::json;

use crate::command::{User, run};
use crate::tests::{Facts, give_back, take_over};
use crate::watch::status;

const LIMIT: Duration = Duration::from_secs(60);
/// An object with a program that no verifier takes.
const BROKEN: &str = "/tmp/broken.bpf.o";

struct Case {
    name: &'static str,
    user: User,
    arguments: &'static [&'static str],
    /// What the message has to contain: the problem, and what to do.
    words: &'static [&'static str],
    /// The file that may be left.
    leaves: Option<&'static str>,
}

const fn case(
    name: &'static str,
    user: User,
    arguments: &'static [&'static str],
    words: &'static [&'static str],
) -> Case {
    Case {
        name,
        user,
        arguments,
        words,
        leaves: None,
    }
}

const NO_ROOT: [Case; 3] = [
    case(
        "no root",
        User::Nobody,
        &["live", "--duration", "1"],
        &["taking over scheduling needs root", "sudo"],
    ),
    case(
        "shadow without root",
        User::Nobody,
        &["live", "--shadow", "--duration", "1"],
        &["watching the kernel's placements needs root", "sudo"],
    ),
    case(
        "decisions without root",
        User::Nobody,
        &["record", "--decisions", "/tmp/none"],
        &["watching the kernel's placements needs root", "sudo"],
    ),
];
const NO_SCHED_EXT: Case = case(
    "no sched_ext",
    User::Root,
    &["live", "--duration", "1"],
    &["built without sched_ext", "CONFIG_SCHED_CLASS_EXT=y"],
);
const TOO_OLD: Case = case(
    "too old",
    User::Root,
    &["live", "--duration", "1"],
    &["6.12 and newer", "boot a newer kernel"],
);
const TOO_OLD_TO_WATCH: [Case; 2] = [
    case(
        "too old to watch",
        User::Root,
        &["live", "--shadow", "--duration", "1"],
        &["watching needs Linux 6.4", "boot a newer kernel"],
    ),
    case(
        "too old to record",
        User::Root,
        &["record", "--decisions", "/tmp/none"],
        &["watching needs Linux 6.4", "boot a newer kernel"],
    ),
];
const NO_CGROUP: Case = case(
    "no cgroup",
    User::Root,
    &["live", "--only-cgroup", "/nowhere", "--duration", "1"],
    &["/nowhere", "is no cgroup"],
);
const REFUSED: Case = Case {
    leaves: Some("fairlab-live-verifier.log"),
    ..case(
        "refused by the verifier",
        User::Root,
        &["live", "--object", BROKEN, "--duration", "1"],
        &[
            "the kernel does not take the program",
            "!read_ok",
            "fairlab-live-verifier.log",
        ],
    )
};
const SECOND: Case = case(
    "a second scheduler",
    User::Root,
    &["live", "--duration", "1"],
    &["`fairlab", "is loaded already", "stop it first"],
);

/// Each refusal that this kernel allows to try.
pub fn refuse(facts: &mut Facts) -> bool {
    let mut fine = true;
    let mut number = 100;
    let mut check = |case: &Case| {
        number += 1;
        let before = status();
        let problem = match run(number, case.user, case.arguments, LIMIT) {
            None => Some("does not start".to_owned()),
            Some(done) if done.code != Some(2) => Some(format!("exit code {:?}", done.code)),
            Some(done) => {
                let missing = case.words.iter().find(|words| !done.err.contains(**words));
                let left = done
                    .left
                    .iter()
                    .find(|path| case.leaves.is_none_or(|name| !path.ends_with(name)));
                missing
                    .map(|words| format!("does not say `{words}`: {}", done.err))
                    .or_else(|| left.map(|path| format!("leaves {path}")))
            }
        };
        let changed = (status() != before).then(|| "changes the machine's state".to_owned());
        let problem = problem.or(changed);
        fine &= problem.is_none();
        facts.insert(
            case.name.to_owned(),
            json!(problem.unwrap_or_else(|| "ok".to_owned())),
        );
    };
    let state = status();
    if state.state.is_some() {
        // Who is not root is told so where nothing else is in the way.
        NO_ROOT.iter().for_each(&mut check);
        check(&NO_CGROUP);
        fs::write(BROKEN, broken(OBJECT).unwrap_or_default()).unwrap_or_default();
        check(&REFUSED);
        let left = Program::loaded();
        let Some(child) = take_over(&[], &mut Facts::new()) else {
            return false;
        };
        check(&SECOND);
        let is_left = status().is_ours() && give_back(child, Signal::TERM).is_some();
        fine && is_left && left.is_empty()
    } else {
        if state.check_shadow(true).is_ok() {
            NO_ROOT[1..].iter().for_each(&mut check);
        } else {
            TOO_OLD_TO_WATCH.iter().for_each(&mut check);
        }
        let is_old = state
            .check(true)
            .is_err_and(|error| matches!(error, fairlab_live::LiveError::TooOld { .. }));
        check(if is_old { &TOO_OLD } else { &NO_SCHED_EXT });
        fine && Program::loaded().is_empty()
    }
}

/// The object with a program that begins by reading a register that nobody has written.
fn broken(object: &[u8]) -> Option<Vec<u8>> {
    /// `r0 = r9`
    const BAD: [u8; 8] = [0xbf, 0x90, 0, 0, 0, 0, 0, 0];
    let file = object::File::parse(object).ok()?;
    let program = file.section_by_name("struct_ops/fairlab_exit")?;
    let begin = usize::try_from(program.file_range()?.0).ok()?;
    let mut broken = object.to_vec();
    broken
        .get_mut(begin..begin + BAD.len())?
        .copy_from_slice(&BAD);
    Some(broken)
}
