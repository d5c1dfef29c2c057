//! Messages within one thread: what the calls cost without wakeups and switches.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Instant;

use super::CalibrateOptions;
use super::rounds::{Part, median};
use crate::BenchError;
use crate::messages::{Channel, receive_all, send};

/// Messages that wait in a channel at once; well below what fits.
const BATCH: usize = 32;
/// Channels in turn, and messages that wait in each: what is sent is no longer in the first caches when it
/// is received, as where many tasks talk. One channel by itself takes less than half of the time.
const CHANNELS: usize = 16;
const DEEP: usize = 128;
/// Size of a small message.
const SMALL: usize = 64;
/// Size of a message whose copying shows.
const LARGE: usize = 16 << 10;

/// The costs of calls, ns.
pub(super) struct Calls {
    pub(super) pipe: (f64, f64),
    unix: (f64, f64),
    tcp: (f64, f64),
    udp: (f64, f64),
    copy_per_kib: f64,
}

impl Calls {
    pub(super) fn parts(&self) -> Vec<Part> {
        let part = |entry, value| Part {
            entry,
            index: 0,
            value,
        };
        vec![
            part("pipe_write", self.pipe.0),
            part("pipe_read", self.pipe.1),
            part("unix_send", self.unix.0),
            part("unix_receive", self.unix.1),
            part("tcp_send", self.tcp.0),
            part("tcp_receive", self.tcp.1),
            part("udp_send", self.udp.0),
            part("udp_receive", self.udp.1),
            part("message_copy", self.copy_per_kib),
        ]
    }
}

pub(super) fn measure(options: &CalibrateOptions) -> Result<Calls, BenchError> {
    let batches = options.count(100);
    let through = |channels: &[Channel], batch: usize, size: usize| {
        let mut message = vec![0; size];
        let mut buffer = vec![0; size];
        in_batches(
            batches,
            batch * channels.len(),
            |at| {
                let channel = &channels[at % channels.len()];
                send(&channel.to, &message.as_mut_slice()[..size])
            },
            |at| receive_all(&channels[at / batch].from, &mut buffer),
        )
    };
    let pipe = [Channel::pipe()?];
    let small = through(&pipe, BATCH, SMALL)?;
    let large = through(&pipe, 2, LARGE)?;
    let kib = (LARGE - SMALL) as f64 / 1024.0;
    let copy = (large.0 + large.1 - small.0 - small.1) / 2.0 / kib;
    let many = |new: fn() -> Result<Channel, BenchError>| -> Result<Vec<Channel>, BenchError> {
        (0..CHANNELS).map(|_| new()).collect()
    };
    Ok(Calls {
        pipe: through(&many(Channel::pipe)?, DEEP, SMALL)?,
        unix: through(&many(Channel::sockets)?, DEEP, SMALL)?,
        tcp: tcp(batches)?,
        udp: udp(batches)?,
        copy_per_kib: copy.max(1.0),
    })
}

/// Times of `give` and of `take`, done in turns of `batch` each: medians of the batches, so that being
/// preempted in some of them does not count.
fn in_batches(
    batches: u32,
    batch: usize,
    mut give: impl FnMut(usize) -> Result<(), BenchError>,
    mut take: impl FnMut(usize) -> Result<(), BenchError>,
) -> Result<(f64, f64), BenchError> {
    let (mut gave, mut took) = (Vec::new(), Vec::new());
    for _ in 0..batches {
        let start = Instant::now();
        for at in 0..batch {
            give(at)?;
        }
        let middle = Instant::now();
        for at in 0..batch {
            take(at)?;
        }
        gave.push((middle - start).as_nanos() as f64 / batch as f64);
        took.push(middle.elapsed().as_nanos() as f64 / batch as f64);
    }
    Ok((median(gave), median(took)))
}

fn tcp(batches: u32) -> Result<(f64, f64), BenchError> {
    let fail = BenchError::system("connect to this host over TCP");
    let pair = || {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let to = TcpStream::connect(listener.local_addr()?)?;
        to.set_nodelay(true)?;
        Ok::<_, std::io::Error>((to, listener.accept()?.0))
    };
    let (to, from) = pair().map_err(fail)?;
    let (message, mut buffer) = ([0; SMALL], [0; SMALL]);
    in_batches(
        batches,
        BATCH,
        |_| send(&to, &message),
        |_| receive_all(&from, &mut buffer),
    )
}

fn udp(batches: u32) -> Result<(f64, f64), BenchError> {
    let pair = || {
        let from = UdpSocket::bind("127.0.0.1:0")?;
        let to = UdpSocket::bind("127.0.0.1:0")?;
        to.connect(from.local_addr()?)?;
        Ok::<_, std::io::Error>((to, from))
    };
    let (to, from) = pair().map_err(BenchError::system("connect to this host over UDP"))?;
    let (message, mut buffer) = ([0; SMALL], [0; SMALL]);
    in_batches(
        batches,
        BATCH,
        |_| {
            let sent = to.send(&message).map(drop);
            sent.map_err(BenchError::system("send a packet"))
        },
        |_| {
            let received = from.recv(&mut buffer).map(drop);
            received.map_err(BenchError::system("receive a packet"))
        },
    )
}
