//! Names of a file and what they stand for. A name exists by being used.

use std::collections::BTreeMap;

use fairlab_units::CpuMask;
use fairlab_workload::{
    BarrierId, CondId, FutexId, ListId, MaskId, Metric, MetricId, MetricUnit, MutexId, PipeId,
    ProgramId, SemaphoreId, TaskGroupId, TimerId, WorkloadBuilder,
};

use crate::error::did_you_mean;

/// What names stand for.
pub(crate) struct Names<'a> {
    pub(crate) builder: WorkloadBuilder,
    /// CPUs of the machine.
    pub(crate) online: &'a CpuMask,
    pub(crate) tasks: BTreeMap<String, ProgramId>,
    pub(crate) pipes: BTreeMap<String, PipeId>,
    pub(crate) barriers: BTreeMap<String, BarrierId>,
    pub(crate) timers: BTreeMap<String, TimerId>,
    pub(crate) semaphores: BTreeMap<String, SemaphoreId>,
    pub(crate) groups: BTreeMap<String, TaskGroupId>,
    futexes: BTreeMap<String, FutexId>,
    lists: BTreeMap<String, ListId>,
    metrics: BTreeMap<String, MetricId>,
    mutexes: BTreeMap<String, MutexId>,
    conds: BTreeMap<String, CondId>,
}

macro_rules! by_use {
    ($($(#[$doc:meta])* $name:ident: $field:ident -> $id:ty = $make:expr;)*) => {
        $(
            $(#[$doc])*
            pub(crate) fn $name(&mut self, name: &str) -> $id {
                if let Some(id) = self.$field.get(name) {
                    return *id;
                }
                let make: fn(&mut WorkloadBuilder, &str) -> $id = $make;
                let id = make(&mut self.builder, name);
                self.$field.insert(name.to_owned(), id);
                id
            }
        )*
    };
}

impl<'a> Names<'a> {
    pub(crate) fn new(builder: WorkloadBuilder, online: &'a CpuMask) -> Self {
        Self {
            builder,
            online,
            tasks: BTreeMap::new(),
            pipes: BTreeMap::new(),
            barriers: BTreeMap::new(),
            timers: BTreeMap::new(),
            semaphores: BTreeMap::new(),
            groups: BTreeMap::new(),
            futexes: BTreeMap::new(),
            lists: BTreeMap::new(),
            metrics: BTreeMap::new(),
            mutexes: BTreeMap::new(),
            conds: BTreeMap::new(),
        }
    }

    by_use! {
        futex: futexes -> FutexId = |b, _| b.futex();
        list: lists -> ListId = |b, _| b.list();
        mutex: mutexes -> MutexId = |b, _| b.mutex();
        cond: conds -> CondId = |b, _| b.cond();
        semaphore: semaphores -> SemaphoreId = |b, _| b.semaphore(0);
        metric: metrics -> MetricId = |b, name| b.metric(Metric {
            name: name.to_owned().into(),
            title: name.to_owned().into(),
            unit: MetricUnit::LatencyNs,
        });
    }

    /// The task group called `name`; `/` is the root. Otherwise a message.
    pub(crate) fn group(&self, name: &str) -> Result<Option<TaskGroupId>, String> {
        if name == "/" {
            return Ok(None);
        }
        self.groups.get(name).copied().map(Some).ok_or_else(|| {
            let hint = did_you_mean(name, self.groups.keys().map(String::as_str));
            format!("there is no [group.{name}]{hint}")
        })
    }

    /// The set of CPUs that `list` names, if all of them are the machine's.
    pub(crate) fn mask(&mut self, list: &str) -> Option<MaskId> {
        let mask = CpuMask::parse_list(list, self.online.room()).ok()?;
        (!mask.is_empty() && mask.is_subset(self.online)).then(|| self.builder.mask(mask))
    }
}
