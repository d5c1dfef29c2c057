//! Drawings, differences and findings, as a user reads them.

use expect_test::{Expect, expect};
use fairlab_machines::{Severity, check, diff, draw};

use crate::support::loaded;

fn check_drawing(reference: &str, expected: Expect) {
    expected.assert_eq(&draw(&loaded(reference)));
}

#[test]
fn an_epyc_is_drawn_in_a_few_lines() {
    check_drawing(
        "epyc-7713",
        expect![[r#"
        epyc-7713: AMD EPYC 7713 (x86)
        256 CPUs, 128 cores, SMT2, 16 LLCs, 2 nodes, 2 packages

        packages 0-1, nodes 0-1 (256 GiB)           0-63,128-191 | 64-127,192-255
          8 LLCs (L3 32 MiB)                        0-7,128-135 | 8-15,136-143 | 16-23,144-151
                                                    24-31,152-159 | 32-39,160-167 | 40-47,168-175
                                                    48-55,176-183 | 56-63,184-191
            8 cores of 2 threads                    0,128 | 1,129 | 2,130 | 3,131 | 4,132 | 5,133 | 6,134
                                                    7,135

        distance   0   1
               0  10  32
               1  32  10
    "#]],
    );
}

#[test]
fn kinds_and_capacities_are_drawn() {
    check_drawing(
        "hybrid-laptop",
        expect![[r#"
            hybrid-laptop: 13th Gen Intel Core i7-1370P (x86)
            20 CPUs, 14 cores, SMT2, 1 LLC, 1 node, 1 package

            package 0, node 0 (32 GiB), 1 LLC (L3 24 MiB)
                                                        0-19
              6 clusters                                0-1 | 2-3 | 4-5 | 6-7 | 8-9 | 10-11
                1 core of 2 threads, P                  0-1
              2 clusters                                12-15 | 16-19
                4 cores, E, capacity 768                12 | 13 | 14 | 15
            capacities: 768, 1024 (source: frequency)
                        x86 kernels do not infer capacities and take 1024 for all
        "#]],
    );
    check_drawing(
        "phone",
        expect![[r#"
        phone: three-tier Arm phone (arm64)
        8 CPUs, 1 LLC, 1 node, 1 package

        package 0, node 0 (8 GiB), 1 LLC (L3 4 MiB)
                                                    0-7
          4 cores, E, capacity 325                  0 | 1 | 2 | 3
          3 cores, M, capacity 821                  4 | 5 | 6
          1 core, P                                 7
        capacities: 325, 821, 1024 (source: stated)
    "#]],
    );
}

#[test]
fn nodes_inside_an_llc_and_clusters_inside_a_node() {
    check_drawing(
        "xeon-6248-snc",
        expect![[r#"
        xeon-6248-snc: Intel Xeon Gold 6248 (x86)
        80 CPUs, 40 cores, SMT2, 2 LLCs, 4 nodes, 2 packages

        packages 0-1, 2 LLCs (L3 27.5 MiB)          0-19,40-59 | 20-39,60-79
          nodes 0-1 (48 GiB)                        0-9,40-49 | 10-19,50-59
            10 cores of 2 threads                   0,40 | 1,41 | 2,42 | 3,43 | 4,44 | 5,45 | 6,46 | 7,47
                                                    8,48 | 9,49

        distance   0   1   2   3
               0  10  11  21  21
               1  11  10  21  21
               2  21  21  10  11
               3  21  21  11  10
    "#]],
    );
    check_drawing(
        "kunpeng-920",
        expect![[r#"
        kunpeng-920: Kunpeng 920 (arm64)
        128 CPUs, 4 LLCs, 4 nodes, 2 packages

        packages 0-1                                0-63 | 64-127
          nodes 0-1 (64 GiB), 2 LLCs (L3 32 MiB)    0-31 | 32-63
            8 clusters                              0-3 | 4-7 | 8-11 | 12-15 | 16-19 | 20-23 | 24-27 | 28-31
              4 cores                               0 | 1 | 2 | 3

        distance   0   1   2   3
               0  10  12  20  22
               1  12  10  22  24
               2  20  22  10  12
               3  22  24  12  10
    "#]],
    );
}

#[test]
fn offline_isolated_and_memory_only() {
    check_drawing(
        "2s:4c:2t;offline=6-7;isolated=2-3;memory-nodes=1;numbering=threads-adjacent",
        expect![[r#"
            2s:4c:2t;offline=6-7;isolated=2-3;memory-nodes=1;numbering=t (x86)
            14 CPUs, 7 cores, SMT2, 2 LLCs, 3 nodes, 2 packages, 2 offline

            package 0, node 0, 1 LLC                    0-5
              3 cores of 2 threads                      0-1 | 2-3 | 4-5
            package 1, node 1, 1 LLC                    8-15
              4 cores of 2 threads                      8-9 | 10-11 | 12-13 | 14-15
            offline                                     6-7
            isolated                                    2-3
            node 2: memory only (size unknown)

            distance   0   1   2
                   0  10  20  20
                   1  20  10  20
                   2  20  20  10
        "#]],
    );
}

#[test]
fn equal_machines_do_not_differ() {
    assert!(diff(&loaded("2s:4c:2t"), &loaded("2s:4c:2t;name=other")).is_empty());
}

#[test]
fn what_differs_is_named_with_the_cpus() {
    let list: Vec<String> = diff(&loaded("1s:8c"), &loaded("1s:2l:4c;isolated=3"))
        .iter()
        .map(|d| format!("{}: {} / {}", d.what, d.a, d.b))
        .collect();
    expect![[r#"
        LLCs: 1 / 2
        isolated of CPUs 3: false / true
        who shares a LLC (CPUs 0-7); for example with CPU 0: 0-7 / 0-3
    "#]]
    .assert_eq(&(list.join("\n") + "\n"));
}

#[test]
fn asymmetric_and_far_distances_are_found() {
    let found = check(&loaded("3s:1c;distances=10/20/40_21/10/20_40/20/10"));
    let list: Vec<String> = found
        .iter()
        .map(|f| format!("{:?}: {}: {}", f.severity, f.what, f.meaning))
        .collect();
    expect![[r#"
        Problem: distances are not symmetric: 0 to 1 is 20, 1 to 0 is 21 (1 pairs): kept: kernels build each CPU's NUMA domains from its own row
        Note: some nodes are farther apart than the reclaim distance of 30: their NUMA domains have no WAKE_AFFINE and no balancing at fork and exec
        Note: 4 distinct distances between nodes with CPUs: each but the smallest gives a NUMA level; their groups overlap
    "#]].assert_eq(&(list.join("\n") + "\n"));
    assert!(
        check(&loaded("xeon-6248"))
            .iter()
            .all(|f| f.severity == Severity::Note)
    );
}
