//! Topologies of guests.

/// A machine as QEMU is told of it.
pub struct Shape {
    /// The value of `-smp`.
    pub smp: String,
    /// Further arguments.
    pub more: Vec<String>,
    /// Memory, MiB.
    pub memory: u32,
    /// What an emulated CPU says it is: kernels read topology in each vendor's way.
    pub cpu: &'static str,
}

/// Threads and caches as Intel tells them.
const CPU: &str = "max,vendor=GenuineIntel,family=6,model=85,stepping=7";
/// The same without the newer way, which knows no clusters in QEMU.
const CPU_WITH_CLUSTERS: &str = "max,vendor=GenuineIntel,family=6,model=85,stepping=7,level=0x16";

/// The topology called `name`; any other text is a value for `-smp`.
pub fn find(name: &str) -> Shape {
    let plain = |smp: &str| Shape {
        smp: smp.to_owned(),
        more: Vec::new(),
        memory: 1024,
        cpu: CPU,
    };
    match name {
        "flat4" => plain("4,sockets=1,cores=4,threads=1"),
        "smt2" => plain("4,sockets=1,cores=2,threads=2"),
        "llc8" => plain("8,sockets=2,cores=2,threads=2"),
        "numa16" => Shape {
            more: two_nodes(),
            cpu: CPU_WITH_CLUSTERS,
            ..plain("16,sockets=2,modules=2,cores=2,threads=2")
        },
        other => plain(other),
    }
}

/// Two nodes of 8 CPUs, and caches that clusters share.
fn two_nodes() -> Vec<String> {
    let mut more = Vec::new();
    for node in 0..2 {
        let (first, last) = (node * 8, node * 8 + 7);
        more.push("-object".to_owned());
        more.push(format!("memory-backend-ram,id=m{node},size=512M"));
        more.push("-numa".to_owned());
        more.push(format!(
            "node,nodeid={node},memdev=m{node},cpus={first}-{last}"
        ));
    }
    more.push("-numa".to_owned());
    more.push("dist,src=0,dst=1,val=20".to_owned());
    more.push("-machine".to_owned());
    more.push("q35,smp-cache.0.cache=l2,smp-cache.0.topology=module".to_owned());
    more
}
