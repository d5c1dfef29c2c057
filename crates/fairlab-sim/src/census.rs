//! How many queued tasks of a CPU are where they want to be.

use crate::task::Task;

/// Where a task wants to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The node that it prefers, by its faults.
    pub(crate) node: Option<usize>,
    /// The LLC that its process prefers.
    pub(crate) llc: Option<u32>,
}

/// The queued fair tasks of a CPU by their wishes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Census {
    node: usize,
    llc: u32,
    /// Tasks with a preferred node (`nr_numa_running`), and those that are there
    /// (`nr_preferred_running`).
    pub(crate) with_node: u32,
    pub(crate) on_node: u32,
    /// Tasks that prefer each LLC (`nr_pref_llc`); short as long as nobody asks for more.
    by_llc: Vec<u32>,
    /// Tasks that are in the LLC that they prefer (`nr_pref_llc_running`).
    pub(crate) in_llc: u32,
}

impl Census {
    /// Nobody, on a CPU of this node and LLC.
    pub(crate) fn of(node: usize, llc: u32) -> Self {
        Self {
            node,
            llc,
            ..Self::default()
        }
    }

    /// Tasks that prefer `llc`.
    pub(crate) fn preferring(&self, llc: u32) -> u32 {
        self.by_llc.get(llc as usize).copied().unwrap_or(0)
    }

    /// Counts a task that was queued, unless it is counted.
    #[doc(alias = "account_numa_enqueue")]
    pub(crate) fn add(&mut self, task: &mut Task) {
        if task.counted.is_some() {
            return;
        }
        let wish = task.wish;
        task.counted = Some(wish);
        self.with_node += u32::from(wish.node.is_some());
        self.on_node += u32::from(wish.node == Some(self.node));
        if let Some(llc) = wish.llc {
            let index = llc as usize;
            if self.by_llc.len() <= index {
                self.by_llc.resize(index + 1, 0);
            }
            self.by_llc[index] += 1;
            self.in_llc += u32::from(llc == self.llc);
        }
    }

    /// Takes out a task that has left the queue.
    #[doc(alias = "account_numa_dequeue")]
    pub(crate) fn remove(&mut self, task: &mut Task) {
        let Some(wish) = task.counted.take() else {
            return;
        };
        self.with_node -= u32::from(wish.node.is_some());
        self.on_node -= u32::from(wish.node == Some(self.node));
        if let Some(llc) = wish.llc {
            self.by_llc[llc as usize] -= 1;
            self.in_llc -= u32::from(llc == self.llc);
        }
    }

    /// Gives a task of this CPU another wish.
    pub(crate) fn change(&mut self, task: &mut Task, wish: Wish) {
        let counted = task.counted.is_some();
        self.remove(task);
        task.wish = wish;
        if counted {
            self.add(task);
        }
    }
}
