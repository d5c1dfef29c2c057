//! Cost files.

use fairlab_sim::{CostTable, MachineClass};
use fairlab_units::Nanos;
use fairlab_workfile::{CostFile, CostNote};

fn parse(text: &str) -> CostFile {
    CostFile::parse(text, MachineClass::X86Server).unwrap()
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    let error = CostFile::parse(text, MachineClass::X86Server).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn an_empty_file_is_the_class() {
    assert_eq!(parse("").table, CostTable::default());
    let power = parse("class = \"power\"");
    assert_eq!(power.table, MachineClass::Power.table());
}

#[test]
fn what_is_written_is_read_back() {
    for class in MachineClass::ALL {
        let mut file = CostFile::of_class(class);
        file.table.context_switch = Nanos(1_337);
        file.table.idle_exit[1] = 1_999;
        file.environment = vec![("host".to_owned(), "a \"b\" \\ c\n".to_owned())];
        let note = |intervals| CostNote {
            source: Some("measured".to_owned()),
            intervals,
        };
        file.notes
            .insert("context_switch", note(vec![Some((1_300, 1_400))]));
        file.notes.insert(
            "ipi",
            note(vec![None, None, None, Some((600, 800)), None, None]),
        );
        file.notes
            .insert("idle_exit", note(vec![None, Some((1_900, 2_100)), None]));
        let text = file.to_toml();
        let again = CostFile::parse(&text, MachineClass::Generic).unwrap();
        assert_eq!(again.table, file.table, "{text}");
        assert_eq!(again.class, class);
        assert_eq!(again.environment, file.environment);
        for name in ["context_switch", "ipi", "idle_exit"] {
            assert_eq!(again.notes[name], file.notes[name], "{text}");
        }
        assert_eq!(again.to_toml(), text);
    }
}

#[test]
fn distances_that_are_left_out_stay() {
    let table = parse("[ipi]\nns = { remote = 5_000 }").table;
    let expected = [0, 400, 500, 700, 1_000, 5_000].map(Nanos);
    assert_eq!(table.ipi, expected);
}

#[test]
fn errors_have_line_and_column_and_say_what_to_write() {
    check_error(
        "[ipl]\nns = 1",
        "1:2: unknown key 'ipl' in a cost file; did you mean 'ipi'?",
    );
    check_error(
        "[tick]\nus = 1",
        "2:1: unknown key 'us' in [tick]; did you mean 'ns'? (known are ns",
    );
    check_error(
        "[tick]\nns = -1",
        "2:6: a whole number from 0 to 1000000000 is wanted",
    );
    check_error("[ipi]\nns = 1", "2:6: a table like { same_llc = 700");
    check_error(
        "[ipi]\nns = { near = 1 }",
        "2:8: unknown key 'near' in the distances",
    );
    check_error(
        "[smt_speed]\nspeed_1024ths = []",
        "2:17: an array of 1 to 8 numbers is wanted",
    );
    check_error(
        "[tick]\ninterval_ns = [2, 1]",
        "2:15: an interval like [600, 800]",
    );
    check_error("class = \"vax\"", "1:9: a class of machines (x86-server");
    check_error(
        "[idle_exit]\nns = [1]",
        "1:1: idle_residency and idle_exit need a number",
    );
    check_error("[tick", "1:6: ");
}

#[test]
fn damaged_files_are_refused_or_read_but_never_more() {
    let whole = CostFile::of_class(MachineClass::Power)
        .to_toml()
        .into_bytes();
    let mut rng = fairlab_rng::Rng::stream(1, "damage");
    for _ in 0..500 {
        let mut bytes = whole.clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(3) {
                0 => bytes[at] = rng.below(128) as u8,
                1 => drop(bytes.drain(at..(at + 9).min(bytes.len()))),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(file) = CostFile::parse(&text, MachineClass::Generic) {
            assert_eq!(file.table.fault(), None);
        }
    }
}
