//! What a comparison counts and prints.

use std::collections::BTreeMap;

/// Certain records equal and compared, uncertain ones equal and compared.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    pub certain: [u64; 2],
    pub uncertain: [u64; 2],
}

impl Tally {
    pub fn add(&mut self, certain: bool, equal: bool) {
        let pair = if certain {
            &mut self.certain
        } else {
            &mut self.uncertain
        };
        pair[0] += u64::from(equal);
        pair[1] += 1;
    }
}

/// Counts by one key.
#[derive(Default)]
pub struct Table(BTreeMap<String, Tally>);

impl Table {
    pub fn add(&mut self, key: String, certain: bool, equal: bool) {
        self.0.entry(key).or_default().add(certain, equal);
    }

    pub fn print(&self, title: &str) {
        let width = self
            .0
            .keys()
            .map(String::len)
            .max()
            .unwrap_or(0)
            .max(title.len());
        println!("\n{title:width$}  certain: equal of compared   uncertain: equal of compared");
        for (key, tally) in &self.0 {
            let [certain, certain_of] = tally.certain;
            let [uncertain, uncertain_of] = tally.uncertain;
            println!(
                "{key:width$}  {certain:>14} of {certain_of:<10}  {uncertain:>16} of {uncertain_of:<8} {}",
                permille(uncertain, uncertain_of)
            );
        }
    }
}

fn permille(part: u64, whole: u64) -> String {
    match (part * 1000).checked_div(whole) {
        Some(p) => format!("{}.{} %", p / 10, p % 10),
        None => "-".into(),
    }
}
