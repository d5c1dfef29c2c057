//! Forks on a machine of one LLC of 80 CPUs, to hold the count of instructions against valgrind's:
//!
//! ```text
//! cargo build --release -p fairlab-bench --example forks
//! target/release/examples/forks count
//! valgrind --tool=callgrind target/release/examples/forks 400
//! valgrind --tool=callgrind target/release/examples/forks 800
//! ```
//! The difference of the last two, by 400, is what the first prints.

use std::error::Error;

use fairlab_bench::policy::instructions;
use fairlab_bench::policy::one_llc;
use fairlab_bench::policy::placement::{Case, Decide};
use fairlab_kernel::{Kernel, Release};

fn main() -> Result<(), Box<dyn Error>> {
    let word = std::env::args().nth(1).unwrap_or_default();
    let mut decide = Decide::new(&one_llc(80, 2)?, &Kernel::of(Release::V6_6), Case::Fork)?;
    if word == "count" {
        let counts = instructions::count(&mut [&mut || {
            decide.scan(1);
        }])?;
        println!("{counts:?} instructions");
    } else {
        let forks = word.parse()?;
        for _ in 0..forks {
            decide.scan(1);
        }
        println!("{forks} forks");
    }
    Ok(())
}
