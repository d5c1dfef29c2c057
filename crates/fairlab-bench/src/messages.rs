//! Messages of a fixed size through pipes and sockets.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;

use crate::BenchError;

/// The ends of a channel: what is written to `to` comes out of `from`.
#[derive(Debug)]
pub struct Channel {
    /// The end to read from.
    pub from: OwnedFd,
    /// The end to write to.
    pub to: OwnedFd,
}

impl Channel {
    /// A pipe.
    pub fn pipe() -> Result<Self, BenchError> {
        let (from, to) = rustix::pipe::pipe().map_err(BenchError::system("make a pipe"))?;
        Ok(Self { from, to })
    }

    /// A pair of stream sockets.
    pub fn sockets() -> Result<Self, BenchError> {
        let pair = std::os::unix::net::UnixStream::pair();
        let (from, to) = pair.map_err(BenchError::system("make a pair of sockets"))?;
        Ok(Self {
            from: from.into(),
            to: to.into(),
        })
    }
}

/// Writes all of `message`.
pub fn send(to: impl AsFd, message: &[u8]) -> Result<(), BenchError> {
    let mut rest = message;
    while !rest.is_empty() {
        match rustix::io::write(&to, rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(error) => return Err(BenchError::system("write a message")(error)),
        }
    }
    Ok(())
}

/// Fills `message`; false when the other side has ended before it was full.
pub fn receive(from: impl AsFd, message: &mut [u8]) -> Result<bool, BenchError> {
    let mut filled = 0;
    while let Some(rest) = message.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::io::read(&from, rest) {
            Ok(0) => return Ok(false),
            Ok(read) => filled += read,
            Err(Errno::INTR) => {}
            Err(error) => return Err(BenchError::system("read a message")(error)),
        }
    }
    Ok(true)
}

/// As [`receive`], where the end of the other side is an error.
pub fn receive_all(from: impl AsFd, message: &mut [u8]) -> Result<(), BenchError> {
    if receive(from, message)? {
        Ok(())
    } else {
        Err(BenchError::Option(
            "the other side of a channel ended early".into(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_in_two_parts_is_received_as_one() {
        for channel in [Channel::pipe().unwrap(), Channel::sockets().unwrap()] {
            send(&channel.to, b"hel").unwrap();
            send(&channel.to, b"lo").unwrap();
            let mut message = [0; 5];
            receive_all(&channel.from, &mut message).unwrap();
            assert_eq!(&message, b"hello");
            send(&channel.to, b"x").unwrap();
            drop(channel.to);
            assert!(!receive(&channel.from, &mut message).unwrap());
            assert!(receive_all(&channel.from, &mut message).is_err());
        }
    }
}
