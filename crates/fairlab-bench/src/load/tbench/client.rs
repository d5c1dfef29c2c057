//! A client: one request after the other.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use fairlab_rng::Rng;

use super::server::HEADER;
use super::{TbenchOptions, mix};
use crate::BenchError;
use crate::messages::send;

/// What a client has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// File data.
    pub bytes: u64,
    /// Calls.
    pub calls: u64,
    /// The longest wait for a reply, in ns.
    pub max_ns: u64,
    /// The time measured, in ns.
    pub elapsed_ns: u64,
}

impl Answer {
    /// As bytes in a pipe; less than what a pipe takes in one piece.
    pub const SIZE: usize = 32;

    fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let words = [self.bytes, self.calls, self.max_ns, self.elapsed_ns];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// What `to_bytes` has written.
    pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Self {
        let mut words = bytes.chunks_exact(8).map(|word| {
            // Eight bytes always fit eight bytes.
            word.try_into().map_or(0, u64::from_ne_bytes)
        });
        let mut next = || words.next().unwrap_or(0);
        Self {
            bytes: next(),
            calls: next(),
            max_ns: next(),
            elapsed_ns: next(),
        }
    }
}

/// Client `number`: makes calls until the time is over, and writes an [`Answer`].
pub fn run(
    address: SocketAddr,
    options: &TbenchOptions,
    number: u32,
    answers: &impl AsFd,
) -> Result<(), BenchError> {
    let stream =
        TcpStream::connect(address).map_err(BenchError::system("connect to the server"))?;
    stream
        .set_nodelay(true)
        .map_err(BenchError::system("send without delay"))?;
    let mut rng = Rng::stream(options.seed, &format!("tbench client {number}"));
    let mut client = Client {
        stream,
        buffer: vec![0; mix::LONGEST],
    };
    client.work(options.warm_up, &mut rng)?;
    let answer = client.work(options.runtime, &mut rng)?;
    send(answers, &answer.to_bytes())
}

struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    fn work(&mut self, time: Duration, rng: &mut Rng) -> Result<Answer, BenchError> {
        let mut answer = Answer::default();
        let start = Instant::now();
        let mut now = Duration::ZERO;
        while now < time {
            let call = mix::draw(rng);
            self.call(call)
                .map_err(BenchError::system("talk to the server"))?;
            let end = start.elapsed();
            answer.bytes += u64::from(call.payload);
            answer.calls += 1;
            answer.max_ns = answer.max_ns.max(ns(end - now));
            now = end;
        }
        answer.elapsed_ns = ns(now);
        Ok(answer)
    }

    fn call(&mut self, call: mix::Call) -> std::io::Result<()> {
        let (request, reply) = (call.request as usize, call.reply as usize);
        self.buffer[..4].copy_from_slice(&(call.request - 4).to_be_bytes());
        self.buffer[4..HEADER].copy_from_slice(&(call.reply - 4).to_be_bytes());
        self.stream.write_all(&self.buffer[..request])?;
        // The length first, then the rest, as the tool does.
        self.stream.read_exact(&mut self.buffer[..4])?;
        self.stream.read_exact(&mut self.buffer[4..reply])
    }
}

fn ns(time: Duration) -> u64 {
    // 584 years fit.
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_survives_the_pipe() {
        let answer = Answer {
            bytes: 1,
            calls: 2,
            max_ns: 3,
            elapsed_ns: u64::MAX,
        };
        assert_eq!(Answer::from_bytes(&answer.to_bytes()), answer);
    }
}
