//! The tree against a sorted vector.

use alloc::vec::Vec;

use super::*;

/// A small generator of numbers for these tests.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn the_tree_behaves_like_a_sorted_vector() {
    const N: u32 = 200;
    let mut nodes: Vec<Node> = (0..N).map(Node::new).collect();
    let mut tree = Timeline::EMPTY;
    let mut model: Vec<(u32, Keys)> = Vec::new();
    let mut state = 7;
    for _ in 0..20_000 {
        let id = next(&mut state) as u32 % N;
        if let Some(at) = model.iter().position(|(i, _)| *i == id) {
            model.remove(at);
            tree.remove(&mut nodes, id);
        } else {
            // Few distinct keys, around the wrap, so that ties and wrapping occur.
            let keys = Keys {
                key: Vruntime(next(&mut state) % 40).minus(20),
                vruntime: Vruntime(next(&mut state) % 100).minus(50),
                slice: next(&mut state) % 10,
            };
            let at = model
                .iter()
                .position(|(_, k)| keys.key.is_before(k.key))
                .unwrap_or(model.len());
            model.insert(at, (id, keys));
            tree.insert(&mut nodes, id, keys);
        }
        let order: Vec<u32> = tree.iter(&nodes).map(|id| id.0).collect();
        let expected: Vec<u32> = model.iter().map(|(id, _)| *id).collect();
        assert_eq!(order, expected);
        assert_eq!(tree.is_empty(), model.is_empty());
        let min = model.iter().map(|(_, k)| k.vruntime.0 as i64).min();
        assert_eq!(tree.min_vruntime(&nodes).map(|v| v.0 as i64), min);
        let slices = model.iter().map(|(_, k)| k.slice);
        assert_eq!(
            tree.slices(&nodes),
            slices.clone().min().zip(slices.max()),
            "shortest and longest slice"
        );
        let limit = Vruntime(next(&mut state) % 110).minus(55);
        let found = model
            .iter()
            .find(|(_, k)| !limit.is_before(k.vruntime))
            .map_or(NIL, |(id, _)| *id);
        assert_eq!(tree.first_not_after(&nodes, limit), found);
    }
}
