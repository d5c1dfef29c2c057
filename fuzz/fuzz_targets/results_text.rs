//! Outputs of tools, as `fairlab stats` reads them. The first byte chooses the format.
#![no_main]

use fairlab_results::{
    By, CompareOptions, Format, ReadOptions, assemble, check_claims, compare, read_bytes,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, text)) = bytes.split_first() else {
        return;
    };
    // Most of the values of a byte stand for no format: then it is found out.
    let options = ReadOptions {
        format: Format::ALL.get(usize::from(*choice)).copied(),
        ..ReadOptions::default()
    };
    let Ok(document) = read_bytes(text, "fuzz", &options) else {
        return;
    };
    let _ = check_claims(&document);
    let options = CompareOptions {
        resamples: 5,
        ..CompareOptions::default()
    };
    let documents = [document.clone(), document];
    for by in [By::Auto, By::Label, By::Column, By::Block] {
        let results = assemble(&documents, by);
        let _ = compare(&results, &options);
        let _ = fairlab_results::from_json(&fairlab_results::to_json(&results), "fuzz");
    }
});
