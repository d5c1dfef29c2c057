//! The kernel's own choices under sched_ext: what our scheduler's costs are compared with.

use fairlab_live_policy::Config;
use fairlab_topology::Domains;
use libbpf_rs::{Link, Object};

use crate::config::config;
use crate::error::LiveError;
use crate::object::{BUILTIN, Options, Part, configure, load, map_of, open, select, step};

/// A scheduler that has no program: idle CPUs are picked by the kernel, and there is one queue. Dropping
/// it gives scheduling back.
pub struct Builtin {
    // Order matters: the link goes before what it refers to.
    _link: Link,
    _object: Object,
}

impl Builtin {
    /// Loads and attaches it.
    ///
    /// # Errors
    /// When the kernel does not take it.
    pub fn start(domains: &Domains, options: &Options) -> Result<Self, LiveError> {
        let config: Box<Config> = config(domains, &options.kernel, options.settings)?;
        let mut open = open(options)?;
        select(&mut open, Part::Builtin);
        configure(&mut open, &config)?;
        let mut object = load(open, options)?;
        let mut map = map_of(&mut object, BUILTIN)?;
        let link = step("attach the kernel's choices", map.attach_struct_ops())?;
        Ok(Self {
            _link: link,
            _object: object,
        })
    }
}
