//! Our own tables, and pipe tables of others, read back.

use fairlab_results::{By, assemble, check_claims};

use crate::support::{check, figures, one, read, rows, values};

#[test]
fn hyperfine_in_markdown_has_moments_and_no_count() {
    let d = one(
        "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |\n\
         |:---|---:|---:|---:|---:|\n\
         | `true` | 2.8 \u{b1} 3.2 | 0.5 | 27.6 | 1.00 |\n\
         | `sleep 0.01` | 19.3 \u{b1} 7.8 | 11.3 | 66.5 | 6.86 \u{b1} 8.35 |\n",
        "hyperfine",
    );
    check(
        &d,
        &[
            (3, "time.mean@true", 2.8),
            (3, "time.stddev@true", 3.2),
            (4, "time.min@sleep 0.01", 11.3),
            (4, "time.max@sleep 0.01", 66.5),
        ],
    );
    assert_eq!(
        (rows(&d)[0].unit.as_str(), figures(&d, "time").n),
        ("ms", None)
    );
    assert!(d.notes[0].contains("N is unknown"), "{:?}", d.notes);
}

#[test]
fn our_table_of_runs_is_read_back_with_its_title() {
    let d = one(
        "**fork+exit (us)**\n\n\
         |           |    N |  Min |  Max | Median |  Avg | Stddev | Improvement |\n\
         |-----------|-----:|-----:|-----:|-------:|-----:|-------:|------------:|\n\
         | before    |   10 |  310 |  330 |    318 |  320 |      5 |             |\n\
         | after 0.1 |   12 |  300 |  310 |    303 |  304 |      4 |       5.00% |\n",
        "ministat",
    );
    check(
        &d,
        &[
            (5, "fork+exit.n@before", 10.0),
            (6, "fork+exit.median@after 0.1", 303.0),
            (6, "fork+exit.stddev@after 0.1", 4.0),
        ],
    );
    assert_eq!(rows(&d)[0].unit, "us");
    let claims = check_claims(&d);
    assert_eq!((claims.checked, claims.contradictions.len()), (1, 0));
}

#[test]
fn our_table_of_one_series_is_read_back_without_the_columns_it_leaves_out() {
    let d = one(
        "|              | unit | N |  Avg | Stddev |\n\
         |--------------|------|--:|-----:|-------:|\n\
         | task-clock   | ms   | 5 |  1.2 |   0.11 |\n\
         | time elapsed | s    | - | 0.05 |      - |\n",
        "ministat",
    );
    check(
        &d,
        &[(3, "task-clock.n", 5.0), (3, "task-clock.stddev", 0.11)],
    );
    assert_eq!(figures(&d, "time elapsed").n, None);
    assert_eq!(rows(&d)[1].unit, "s");
}

#[test]
fn our_tables_of_changes_are_read_back_and_their_claims_hold() {
    let d = one(
        "|           |   before |    after |              diff |\n\
         |-----------|---------:|---------:|------------------:|\n\
         | fork+exit | 317.0625 | 303.6667 | -13.3958 (-4.22 %) |\n\n\
         1 of 1 rows have no repetitions: no significance can be stated\n",
        "pct-table",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    check(
        &d,
        &[
            (3, "fork+exit@before", 317.0625),
            (3, "fork+exit@after", 303.6667),
        ],
    );
    let claims = check_claims(&d);
    assert_eq!((claims.checked, claims.contradictions.len()), (2, 0));

    let d = one(
        "|      |               6.6 |              6.12 |\n\
         |------|------------------:|------------------:|\n\
         | 8    | 3263.81 (0.00 pct) | 3086.81 (-5.42 pct) |\n",
        "pct-table",
    );
    check(&d, &[(3, "8@6.6", 3263.81), (3, "8@6.12", 3086.81)]);
    assert_eq!(check_claims(&d).contradictions.len(), 0);
}

#[test]
fn our_full_table_is_read_back_with_the_number_of_runs_of_each_side() {
    let d = one(
        "|      | unit |    N |       true |   N | sleep 0.01 |  change | p adj. | finding |\n\
         |------|------|-----:|-----------:|----:|-----------:|--------:|-------:|---------|\n\
         | time | s    | 3085 | 0.00280763 | 244 |  0.0192685 | 586.29% | 0.0001 | worse   |\n",
        "pct-table",
    );
    check(
        &d,
        &[
            (3, "time.n@true", 3085.0),
            (3, "time.n@sleep 0.01", 244.0),
            (3, "time.mean@sleep 0.01", 0.019_268_5),
        ],
    );
}

#[test]
fn our_table_of_single_values_and_tables_of_others_are_read() {
    let table = "|      | unit | hb1.txt | pb3.txt |\n\
         |------|------|--------:|--------:|\n\
         | Time | s    |   0.027 |       - |\n\
         | rate | 1/s  |      12 |      13 |\n";
    let results = assemble(&[read(table)], By::Auto);
    assert_eq!(values(&results, "hb1.txt", "", "Time"), [0.027]);
    assert_eq!(values(&results, "pb3.txt", "", "rate"), [13.0]);
    assert_eq!(results.series[0].rows[0].unit, "s");
    let d = one(
        "| threads | kernel | MB/s |\n|---|:-:|--:|\n| 8 | 6.6 | 100.5 |\n| 8 | 6.12 | 110.5 |\n",
        "markdown",
    );
    let results = assemble(&[d], By::Auto);
    assert_eq!(values(&results, "6.12", "", "threads 8 MB/s"), [110.5]);
}

#[test]
fn our_text_tables_are_read_back() {
    let d = one(
        "            before        after                   diff\n\
         time  0.0028076251  0.019268494  0.01646087 (586.29 %)\n\n\
         values are arithmetic means (Amean) of the runs\n",
        "pct-table",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    check(&d, &[(2, "time@after", 0.019_268_494)]);
    assert_eq!(check_claims(&d).contradictions.len(), 0);
    let d = one(
        "              N   Min   Max  Median   Avg  Stddev  Improvement\n\
         true        300   0.5  27.5     1.1   2.8     3.2\n\
         sleep 0.01  244  11.3  66.4    16.7  19.2     7.7     -585.71%\n",
        "ministat",
    );
    check(
        &d,
        &[
            (3, "value.n@sleep 0.01", 244.0),
            (3, "value.max@sleep 0.01", 66.4),
        ],
    );
}
