//! Placements as Parquet, read back.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;

use crate::runs::{audit, events, machine, page};

#[test]
fn every_placement_is_a_row_with_what_the_audit_said() {
    let machine = machine(1, 2);
    let audit = audit(&machine, events(&machine, 3_000, 7));
    let page = page("rows", &[("run", &machine, &audit)]);
    let mut bytes = Vec::new();
    fairlab_report::write_verdicts(&page.runs[0], &mut bytes).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let rows: Vec<_> = reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut placed = audit.placements.every.clone();
    placed.sort_by_key(|placed| (placed.time, placed.task));
    assert!(placed.len() > 500);
    assert_eq!(rows.len(), placed.len());
    for (row, placed) in rows.iter().zip(&placed) {
        assert_eq!(row.get_long(0).unwrap() as u64, placed.time.0);
        assert_eq!(row.get_int(1).unwrap() as u32, placed.task.0);
        assert_eq!(
            row.get_string(2).unwrap(),
            &page.runs[0].names[&placed.task]
        );
        assert_eq!(row.get_int(4).unwrap() as u32, placed.cpu.0);
        let better = row.get_int(7).ok().map(|cpu| cpu as u32);
        assert_eq!(better, placed.better.map(|cpu| cpu.0));
        let delay = row.get_long(8).ok().map_or(0, |delay| delay as u64);
        assert_eq!(delay, placed.delay_ns);
    }
}
