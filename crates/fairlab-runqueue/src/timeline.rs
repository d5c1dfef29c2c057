//! The ordered, augmented tree of the entities that wait in a queue.
//!
//! A treap whose nodes live in the arena of the entities, one cache line each: the shape follows
//! from a fixed hash of the entity's number, so it is the same in every run, and nothing is
//! allocated when an entity comes or goes.
//!
//! ```text
//!   order      key (deadline, or vruntime under CFS), then time of insertion
//!   heap       hash(id), smaller is nearer to the root
//!   augmented  least vruntime, shortest and longest slice of the subtree
//! ```

use crate::Vruntime;
use crate::entity::EntityId;

/// No node.
pub(crate) const NIL: u32 = u32::MAX;

/// The part of an entity that belongs to the tree. Valid only while the entity is in a tree.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Node {
    key: Vruntime,
    vruntime: Vruntime,
    min_vruntime: Vruntime,
    slice: u64,
    min_slice: u64,
    max_slice: u64,
    left: u32,
    right: u32,
    parent: u32,
    priority: u32,
}

impl Node {
    /// A node outside of any tree.
    pub(crate) const fn new(id: u32) -> Self {
        Self {
            key: Vruntime(0),
            vruntime: Vruntime(0),
            min_vruntime: Vruntime(0),
            slice: 0,
            min_slice: 0,
            max_slice: 0,
            left: NIL,
            right: NIL,
            parent: NIL,
            priority: mix(id),
        }
    }
}

/// A bijection on 32 bits that scatters neighbouring numbers.
const fn mix(id: u32) -> u32 {
    let mut x = id.wrapping_add(0x9e37_79b9);
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// What the tree keeps about an entity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    pub(crate) key: Vruntime,
    pub(crate) vruntime: Vruntime,
    pub(crate) slice: u64,
}

/// The tree of one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeline {
    root: u32,
    first: u32,
}

impl Timeline {
    pub(crate) const EMPTY: Self = Self {
        root: NIL,
        first: NIL,
    };

    /// The entity with the smallest key, or `NIL`.
    #[inline]
    pub(crate) const fn first(&self) -> u32 {
        self.first
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.root == NIL
    }

    /// The least vruntime in the tree.
    #[inline]
    pub(crate) fn min_vruntime(&self, nodes: &[Node]) -> Option<Vruntime> {
        (self.root != NIL).then(|| nodes[self.root as usize].min_vruntime)
    }

    /// The shortest and the longest slice in the tree.
    #[inline]
    pub(crate) fn slices(&self, nodes: &[Node]) -> Option<(u64, u64)> {
        (self.root != NIL).then(|| {
            let root = &nodes[self.root as usize];
            (root.min_slice, root.max_slice)
        })
    }

    /// Adds `id`, behind those with an equal key.
    pub(crate) fn insert(&mut self, nodes: &mut [Node], id: u32, keys: Keys) {
        {
            let node = &mut nodes[id as usize];
            node.key = keys.key;
            node.vruntime = keys.vruntime;
            node.min_vruntime = keys.vruntime;
            node.slice = keys.slice;
            node.min_slice = keys.slice;
            node.max_slice = keys.slice;
            node.left = NIL;
            node.right = NIL;
            node.parent = NIL;
        }
        if self.root == NIL {
            self.root = id;
            self.first = id;
            return;
        }
        let mut at = self.root;
        let mut is_first = true;
        loop {
            let node = &mut nodes[at as usize];
            node.min_vruntime = node.min_vruntime.earlier(keys.vruntime);
            node.min_slice = node.min_slice.min(keys.slice);
            node.max_slice = node.max_slice.max(keys.slice);
            let child = if keys.key.is_before(node.key) {
                &mut node.left
            } else {
                is_first = false;
                &mut node.right
            };
            if *child == NIL {
                *child = id;
                break;
            }
            at = *child;
        }
        nodes[id as usize].parent = at;
        if is_first {
            self.first = id;
        }
        let priority = nodes[id as usize].priority;
        while at != NIL && priority < nodes[at as usize].priority {
            self.rotate_up(nodes, id, at);
            at = nodes[id as usize].parent;
        }
    }

    /// Takes `id` out.
    pub(crate) fn remove(&mut self, nodes: &mut [Node], id: u32) {
        if self.first == id {
            self.first = self.next(nodes, id);
        }
        let Node {
            left,
            right,
            parent,
            ..
        } = nodes[id as usize];
        let merged = merge(nodes, left, right);
        if merged != NIL {
            nodes[merged as usize].parent = parent;
        }
        if parent == NIL {
            self.root = merged;
            return;
        }
        replace_child(nodes, parent, id, merged);
        let mut at = parent;
        while at != NIL {
            if !renew(nodes, at) {
                break;
            }
            at = nodes[at as usize].parent;
        }
    }

    /// The entity after `id` in key order, or `NIL`.
    pub(crate) fn next(&self, nodes: &[Node], id: u32) -> u32 {
        let mut at = nodes[id as usize].right;
        if at != NIL {
            while nodes[at as usize].left != NIL {
                at = nodes[at as usize].left;
            }
            return at;
        }
        let (mut child, mut at) = (id, nodes[id as usize].parent);
        while at != NIL && nodes[at as usize].right == child {
            child = at;
            at = nodes[at as usize].parent;
        }
        at
    }

    /// The first entity in key order whose vruntime is not after `limit`, or `NIL`.
    ///
    /// A subtree is entered only if its least vruntime passes, so the walk never turns back.
    pub(crate) fn first_not_after(&self, nodes: &[Node], limit: Vruntime) -> u32 {
        let passes = |v: Vruntime| !limit.is_before(v);
        if self.first == NIL || passes(nodes[self.first as usize].vruntime) {
            return self.first;
        }
        let mut at = self.root;
        if !passes(nodes[at as usize].min_vruntime) {
            return NIL;
        }
        loop {
            let node = &nodes[at as usize];
            if node.left != NIL && passes(nodes[node.left as usize].min_vruntime) {
                at = node.left;
            } else if passes(node.vruntime) {
                return at;
            } else {
                at = node.right;
                debug_assert_ne!(at, NIL, "the subtree was said to hold a match");
            }
        }
    }

    /// All entities in key order.
    pub(crate) fn iter<'a>(&self, nodes: &'a [Node]) -> impl Iterator<Item = EntityId> + 'a {
        let timeline = *self;
        let mut at = self.first;
        core::iter::from_fn(move || {
            (at != NIL).then(|| {
                let id = EntityId(at);
                at = timeline.next(nodes, at);
                id
            })
        })
    }

    /// Turns `child` and its `parent` around, keeping the order.
    fn rotate_up(&mut self, nodes: &mut [Node], child: u32, parent: u32) {
        let grand = nodes[parent as usize].parent;
        let inner = if nodes[parent as usize].left == child {
            let inner = nodes[child as usize].right;
            nodes[parent as usize].left = inner;
            nodes[child as usize].right = parent;
            inner
        } else {
            let inner = nodes[child as usize].left;
            nodes[parent as usize].right = inner;
            nodes[child as usize].left = parent;
            inner
        };
        if inner != NIL {
            nodes[inner as usize].parent = parent;
        }
        nodes[parent as usize].parent = child;
        nodes[child as usize].parent = grand;
        if grand == NIL {
            self.root = child;
        } else {
            replace_child(nodes, grand, parent, child);
        }
        renew(nodes, parent);
        renew(nodes, child);
    }
}

fn replace_child(nodes: &mut [Node], parent: u32, old: u32, new: u32) {
    let parent = &mut nodes[parent as usize];
    if parent.left == old {
        parent.left = new;
    } else {
        parent.right = new;
    }
}

/// Recomputes the augmented values of `at` from its children; true when they changed.
fn renew(nodes: &mut [Node], at: u32) -> bool {
    let node = nodes[at as usize];
    let (mut v, mut min, mut max) = (node.vruntime, node.slice, node.slice);
    for child in [node.left, node.right] {
        if child != NIL {
            let child = &nodes[child as usize];
            v = v.earlier(child.min_vruntime);
            min = min.min(child.min_slice);
            max = max.max(child.max_slice);
        }
    }
    let node = &mut nodes[at as usize];
    let changed = (node.min_vruntime, node.min_slice, node.max_slice) != (v, min, max);
    (node.min_vruntime, node.min_slice, node.max_slice) = (v, min, max);
    changed
}

/// Joins two trees of which `a` comes before `b`; the root of the result has a stale parent.
fn merge(nodes: &mut [Node], a: u32, b: u32) -> u32 {
    let (mut a, mut b) = (a, b);
    if a == NIL {
        return b;
    }
    if b == NIL {
        return a;
    }
    let mut root = NIL;
    // Where the next winner is hung: the node, and whether to its right.
    let mut hook = (NIL, false);
    while a != NIL && b != NIL {
        let a_wins = nodes[a as usize].priority < nodes[b as usize].priority;
        let winner = if a_wins { a } else { b };
        hang(nodes, &mut root, hook, winner);
        if a_wins {
            hook = (a, true);
            a = nodes[a as usize].right;
        } else {
            hook = (b, false);
            b = nodes[b as usize].left;
        }
    }
    hang(nodes, &mut root, hook, if a == NIL { b } else { a });
    // The seam got new subtrees: recompute it from the bottom.
    let mut at = hook.0;
    loop {
        renew(nodes, at);
        if at == root {
            return root;
        }
        at = nodes[at as usize].parent;
    }
}

fn hang(nodes: &mut [Node], root: &mut u32, hook: (u32, bool), child: u32) {
    let (parent, right) = hook;
    if parent == NIL {
        *root = child;
        return;
    }
    if right {
        nodes[parent as usize].right = child;
    } else {
        nodes[parent as usize].left = child;
    }
    nodes[child as usize].parent = parent;
}

#[cfg(test)]
mod tests;
