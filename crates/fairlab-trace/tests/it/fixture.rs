//! Small traces of each format, written here field by field.

/// Switches that each fixture holds.
pub const SWITCHES: u64 = 40;

const SWITCH_FORMAT: &str = "name: sched_switch\nID: 7\nformat:\n\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n\
print fmt: \"\", __print_flags(REC->prev_state & 255, \"|\", { 1, \"S\" }, { 2, \"D\" }) : \"R\", \
REC->prev_state & 256 ? \"+\" : \"\"\n";

const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

/// Bytes in one order.
#[derive(Clone, Copy)]
pub struct Order {
    pub is_big: bool,
}

impl Order {
    fn u16(self, out: &mut Vec<u8>, number: u16) {
        if self.is_big {
            out.extend(number.to_be_bytes());
        } else {
            out.extend(number.to_le_bytes());
        }
    }

    fn u32(self, out: &mut Vec<u8>, number: u32) {
        if self.is_big {
            out.extend(number.to_be_bytes());
        } else {
            out.extend(number.to_le_bytes());
        }
    }

    fn u64(self, out: &mut Vec<u8>, number: u64) {
        if self.is_big {
            out.extend(number.to_be_bytes());
        } else {
            out.extend(number.to_le_bytes());
        }
    }

    /// One `sched_switch` as the kernel writes it.
    fn switch(self, number: u32) -> Vec<u8> {
        let (prev, next) = (number % 2 * 77, (number + 1) % 2 * 77);
        let name = |pid: u32| {
            if pid == 0 {
                *b"swapper/0\0\0\0\0\0\0\0"
            } else {
                *b"a ==> b: c\0\0\0\0\0\0"
            }
        };
        let mut out = Vec::new();
        self.u16(&mut out, 7);
        out.extend([0, 0]);
        self.u32(&mut out, prev);
        out.extend(name(prev));
        self.u32(&mut out, prev);
        self.u32(&mut out, 120);
        self.u64(&mut out, 1);
        out.extend(name(next));
        self.u32(&mut out, next);
        self.u32(&mut out, 120);
        out
    }

    /// A page of the ring buffer with `count` switches, the first of them number `first`.
    fn page(self, first: u32, count: u32, has_loss: bool) -> Vec<u8> {
        let mut data = Vec::new();
        for number in first..first + count {
            // 1 us later each, and once by an entry of its own.
            let delta: u32 = if number == first { 0 } else { 1000 };
            if number == first + 2 {
                let (kind, high) = (30, 1);
                self.entry(&mut data, kind, 5);
                self.u32(&mut data, high);
            }
            let event = self.switch(number);
            self.entry(&mut data, event.len() as u32 / 4, delta);
            data.extend(event);
        }
        let mut page = Vec::new();
        self.u64(&mut page, 1_000_000_000 + u64::from(first) * 1_000_000_000);
        let flags = if has_loss { (1 << 31) | (1 << 30) } else { 0 };
        self.u64(&mut page, data.len() as u64 | flags);
        page.extend(data);
        if has_loss {
            self.u64(&mut page, 123);
        }
        page.resize(4096, 0);
        page
    }

    fn entry(self, out: &mut Vec<u8>, kind: u32, delta: u32) {
        if self.is_big {
            self.u32(out, kind << 27 | delta);
        } else {
            self.u32(out, delta << 5 | kind);
        }
    }

    /// What `trace.dat` and the tracing data of `perf.data` begin with.
    fn description(self, version: &str) -> Vec<u8> {
        let mut out = b"\x17\x08\x44tracing".to_vec();
        out.extend(version.as_bytes());
        out.push(0);
        out.push(u8::from(self.is_big));
        out.push(8);
        self.u32(&mut out, 4096);
        out.extend(b"header_page\0");
        self.u64(&mut out, HEADER_PAGE.len() as u64);
        out.extend(HEADER_PAGE.as_bytes());
        out.extend(b"header_event\0");
        self.u64(&mut out, 0);
        self.u32(&mut out, 0);
        self.u32(&mut out, 1);
        out.extend(b"sched\0");
        self.u32(&mut out, 1);
        self.u64(&mut out, SWITCH_FORMAT.len() as u64);
        out.extend(SWITCH_FORMAT.as_bytes());
        self.u32(&mut out, 0);
        self.u32(&mut out, 0);
        self.u64(&mut out, 5);
        out.extend(b"77 x\n");
        out
    }

    /// A version 6 file of two CPUs with a page each, the second with a loss.
    pub fn trace_dat(self) -> Vec<u8> {
        let mut out = self.description("6");
        self.u32(&mut out, 2);
        out.extend(b"options  \0");
        let uname = b"Linux host 6.1.0 #1 SMP x86_64\0";
        self.u16(&mut out, 5);
        self.u32(&mut out, uname.len() as u32);
        out.extend(uname);
        self.u16(&mut out, 0);
        out.extend(b"flyrecord\0");
        let start = (out.len() as u64 + 32).next_multiple_of(4096);
        for cpu in 0..2 {
            self.u64(&mut out, start + cpu * 4096);
            self.u64(&mut out, 4096);
        }
        out.resize(start as usize, 0);
        let half = SWITCHES as u32 / 2;
        out.extend(self.page(0, half, false));
        out.extend(self.page(1, half, true));
        out
    }

    fn sample(self, out: &mut Vec<u8>, number: u32) {
        let raw = self.switch(number);
        // Identifier, task, time, CPU, period, callchain, raw.
        let mut body = Vec::new();
        self.u64(&mut body, 11);
        self.u32(&mut body, number % 2 * 77);
        self.u32(&mut body, number % 2 * 77);
        self.u64(&mut body, 1_000_000 + u64::from(number) * 1000);
        self.u32(&mut body, number % 4);
        self.u32(&mut body, 0);
        self.u64(&mut body, 1);
        self.u64(&mut body, 2);
        self.u64(&mut body, 0xffff);
        self.u64(&mut body, 0xfffe);
        self.u32(&mut body, raw.len() as u32 + 4);
        body.extend(raw);
        body.extend([0; 4]);
        self.record(out, 9, &body);
    }

    fn record(self, out: &mut Vec<u8>, kind: u32, body: &[u8]) {
        self.u32(out, kind);
        self.u16(out, 0);
        self.u16(out, 8 + body.len() as u16);
        out.extend(body);
    }

    fn attr(self) -> Vec<u8> {
        let fields: u64 = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 16;
        let mut attr = Vec::new();
        self.u32(&mut attr, 2);
        self.u32(&mut attr, 128);
        self.u64(&mut attr, 7);
        self.u64(&mut attr, 1);
        self.u64(&mut attr, fields);
        self.u64(&mut attr, 0);
        let flags = 1u64 << 18;
        self.u64(
            &mut attr,
            if self.is_big {
                flags.reverse_bits()
            } else {
                flags
            },
        );
        attr.resize(128, 0);
        attr
    }

    fn records(self) -> Vec<u8> {
        let mut out = Vec::new();
        for number in 0..SWITCHES as u32 {
            // Two buffers that are emptied one after the other.
            let number = if number % 10 < 5 {
                number / 10 * 10 + number % 5 * 2
            } else {
                number / 10 * 10 + number % 5 * 2 + 1
            };
            self.sample(&mut out, number);
            if number % 10 == 9 {
                self.record(&mut out, 68, &[]);
            }
        }
        let mut lost = Vec::new();
        for number in [11, 5] {
            self.u64(&mut lost, number);
        }
        // Task, time, CPU, identifier.
        for number in [0, 2_000_000, 1, 11] {
            self.u64(&mut lost, number);
        }
        self.record(&mut out, 2, &lost);
        out
    }

    /// A file as `perf record` writes it.
    pub fn perf_data(self) -> Vec<u8> {
        self.perf_file(&self.records())
    }

    /// The same with all records in one packed record.
    pub fn perf_data_packed(self) -> Vec<u8> {
        let packed = zstd::bulk::compress(&self.records(), 1).unwrap();
        let mut records = Vec::new();
        self.record(&mut records, 81, &packed);
        self.perf_file(&records)
    }

    fn perf_file(self, records: &[u8]) -> Vec<u8> {
        let tracing = self.description("0.6");
        let attrs = 104 + 8;
        let data = attrs + 128 + 16;
        let mut out = if self.is_big {
            b"2ELIFREP".to_vec()
        } else {
            b"PERFILE2".to_vec()
        };
        for number in [104, 144, attrs, 144, data, records.len() as u64, 0, 0] {
            self.u64(&mut out, number);
        }
        for number in [1 << 1 | 1 << 4, 0, 0, 0] {
            self.u64(&mut out, number);
        }
        self.u64(&mut out, 11);
        out.extend(self.attr());
        self.u64(&mut out, 104);
        self.u64(&mut out, 8);
        out.extend(records);
        let mut release = Vec::new();
        self.u32(&mut release, 8);
        release.extend(b"6.1.0\0\0\0");
        let behind = out.len() as u64 + 32;
        for (offset, size) in [
            (behind, tracing.len() as u64),
            (behind + tracing.len() as u64, release.len() as u64),
        ] {
            self.u64(&mut out, offset);
            self.u64(&mut out, size);
        }
        out.extend(tracing);
        out.extend(release);
        out
    }

    /// What `perf record -o -` writes.
    pub fn perf_pipe(self) -> Vec<u8> {
        let mut out = if self.is_big {
            b"2ELIFREP".to_vec()
        } else {
            b"PERFILE2".to_vec()
        };
        self.u64(&mut out, 16);
        let mut attr = self.attr();
        self.u64(&mut attr, 11);
        self.record(&mut out, 64, &attr);
        let mut tracing = self.description("0.6");
        let mut size = Vec::new();
        self.u32(&mut size, tracing.len() as u32);
        self.record(&mut out, 66, &size);
        tracing.resize(tracing.len().next_multiple_of(8), 0);
        out.extend(tracing);
        out.extend(self.records());
        out
    }
}

/// Lines as tracefs prints them.
pub fn text() -> Vec<u8> {
    let mut out =
        String::from("# tracer: nop\n#\n# entries-in-buffer/entries-written: 40/40   #P:4\n");
    for number in 0..SWITCHES {
        let (prev, next) = if number % 2 == 0 {
            (("swapper/1", 0), ("a ==> b: c", 77))
        } else {
            (("a ==> b: c", 77), ("swapper/1", 0))
        };
        if number == 20 {
            out.push_str("CPU:1 [LOST 9 EVENTS]\n");
        }
        out.push_str(&format!(
            "{:>16}-{:<7} [001] d..2. {:5}.{:06}: sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state=S ==> next_comm={} next_pid={} next_prio=120\n",
            prev.0, prev.1, 12, number * 7, prev.0, prev.1, next.0, next.1
        ));
    }
    out.into_bytes()
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn field(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    varint(out, number << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

fn packed(out: &mut Vec<u8>, number: u64, values: &[u64]) {
    let mut bytes = Vec::new();
    for &value in values {
        varint(&mut bytes, value);
    }
    field(out, number, &bytes);
}

/// A Perfetto trace in the compact form; in `zipped` packets if you like.
pub fn perfetto(is_zipped: bool) -> Vec<u8> {
    use std::io::Write as _;
    let packets = perfetto_bundles([0, 1, 2, 3]);
    if !is_zipped {
        return packets;
    }
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&packets).unwrap();
    let mut packet = Vec::new();
    field(&mut packet, 50, &encoder.finish().unwrap());
    let mut out = Vec::new();
    field(&mut out, 1, &packet);
    out
}

/// The bundles of a Perfetto trace in this order; they begin 4 s after one another, in turn on two CPUs.
pub fn perfetto_bundles(order: [u64; 4]) -> Vec<u8> {
    let mut packets = Vec::new();
    for part in order {
        let count = SWITCHES as usize / 4;
        let mut compact = Vec::new();
        field(&mut compact, 5, b"swapper/1");
        field(&mut compact, 5, b"a ==> b: c");
        let mut times = vec![1_000_000 + part * 4_000_000_000];
        times.resize(count, 1000);
        let turns: Vec<u64> = (0..count as u64).map(|turn| turn % 2).collect();
        packed(&mut compact, 1, &times);
        packed(&mut compact, 2, &vec![1; count]);
        packed(
            &mut compact,
            3,
            &turns.iter().map(|turn| turn * 77).collect::<Vec<_>>(),
        );
        packed(&mut compact, 4, &vec![120; count]);
        packed(&mut compact, 6, &turns);
        let mut bundle = Vec::new();
        varint(&mut bundle, 1 << 3);
        varint(&mut bundle, part % 2);
        field(&mut bundle, 4, &compact);
        let mut packet = Vec::new();
        field(&mut packet, 1, &bundle);
        field(&mut packets, 1, &packet);
    }
    packets
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append_data(&mut header, path, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

/// An archive of SchedViz.
pub fn schedviz() -> Vec<u8> {
    let order = Order { is_big: false };
    let page = order.page(0, SWITCHES as u32, false);
    tar(&[
        ("formats/header_page", HEADER_PAGE.as_bytes()),
        (
            "formats/sched/sched_switch/format",
            SWITCH_FORMAT.as_bytes(),
        ),
        ("topology/node0/cpu0/topology/core_id", b"3\n"),
        ("traces/cpu0", &page),
    ])
}

/// A CTF trace with fields that are no whole bytes.
pub fn ctf(order: Order) -> Vec<u8> {
    ctf_by(order, "x", 120)
}

/// The same of another tracer, with these priorities.
pub fn ctf_by(order: Order, tracer: &str, prio: u32) -> Vec<u8> {
    let description = format!(
        "/* CTF 1.8 */ typealias integer {{ size = 32; align = 8; }} := u32;
        typealias integer {{ size = 64; align = 8; }} := u64;
        typealias integer {{ size = 5; align = 1; }} := u5;
        typealias integer {{ size = 27; align = 1; map = clock.c.value; }} := t27;
        trace {{ major = 1; minor = 8; byte_order = {}; packet.header := struct {{ u32 magic; u32 stream_id; }}; }};
        env {{ kernel_release = \"6.1.0\"; tracer_name = \"{tracer}\"; }};
        clock {{ name = c; freq = 1000000000; }};
        stream {{ id = 0; packet.context := struct {{ u64 timestamp_begin; u64 content_size; u64 packet_size;
            u64 events_discarded; u32 cpu_id; }};
          event.header := struct {{ enum : u5 {{ compact = 0 ... 30, extended = 31 }} id;
            variant <id> {{ struct {{ t27 timestamp; }} compact; struct {{ u32 id; u64 timestamp; }} extended; }} v; }} align(8); }};
        event {{ name = sched_switch; id = 2; stream_id = 0; fields := struct {{
          u32 _len; integer {{ size = 8; }} _extra[_len]; integer {{ size = 8; encoding = UTF8; }} _prev_comm[16];
          integer {{ size = 32; signed = true; }} _prev_tid; u32 _prev_prio; u64 _prev_state; string _next_comm; u32 _next_tid; u32 _next_prio; }}; }};",
        if order.is_big { "be" } else { "le" }
    );
    let mut packet = Vec::new();
    order.u32(&mut packet, 0xc1fc_1fc1);
    order.u32(&mut packet, 0);
    let at_sizes = packet.len() + 8;
    for number in [1_000_000, 0, 0, 4] {
        order.u64(&mut packet, number);
    }
    order.u32(&mut packet, 1);
    for number in 0..SWITCHES as u32 {
        let time = 1_000_000 + number * 1000;
        let (prev, next) = (number % 2 * 77, (number + 1) % 2 * 77);
        order.u32(
            &mut packet,
            if order.is_big {
                2 << 27 | time
            } else {
                time << 5 | 2
            },
        );
        order.u32(&mut packet, 2);
        packet.extend([9, 9]);
        packet.extend(b"a ==> b: c\0\0\0\0\0\0");
        order.u32(&mut packet, prev);
        order.u32(&mut packet, prio);
        order.u64(&mut packet, 1);
        packet.extend(b"swapper\0");
        order.u32(&mut packet, next);
        order.u32(&mut packet, prio);
    }
    let bits = packet.len() as u64 * 8;
    let mut sizes = Vec::new();
    order.u64(&mut sizes, bits);
    order.u64(&mut sizes, bits);
    packet[at_sizes..at_sizes + 16].copy_from_slice(&sizes);
    tar(&[
        ("t/metadata", description.as_bytes()),
        ("t/channel0_0", &packet),
    ])
}

/// All of them with their names.
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    let (little, big) = (Order { is_big: false }, Order { is_big: true });
    vec![
        ("text", text()),
        ("trace.dat", little.trace_dat()),
        ("trace.dat, big endian", big.trace_dat()),
        ("perf.data", little.perf_data()),
        ("perf.data, big endian", big.perf_data()),
        ("perf.data, packed", little.perf_data_packed()),
        ("perf.data, pipe", little.perf_pipe()),
        ("perf.data, big endian pipe", big.perf_pipe()),
        ("Perfetto", perfetto(false)),
        ("Perfetto, zipped", perfetto(true)),
        ("SchedViz", schedviz()),
        ("CTF", ctf(little)),
        ("CTF, big endian", ctf(big)),
    ]
}
