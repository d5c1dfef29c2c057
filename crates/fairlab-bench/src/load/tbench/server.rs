//! A server: gives each request the reply that it asks for.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;

use super::mix;
use crate::BenchError;

/// Bytes at the start of a request: its length, and that of the wanted reply, each without four bytes
/// for the length itself.
pub const HEADER: usize = 8;

/// Takes one connection from `listener` and answers until it is closed.
pub fn run(listener: &TcpListener) -> Result<(), BenchError> {
    let (mut stream, _) = listener
        .accept()
        .map_err(BenchError::system("take a connection"))?;
    stream
        .set_nodelay(true)
        .map_err(BenchError::system("send without delay"))?;
    let mut buffer = vec![0; mix::LONGEST];
    loop {
        match answer(&mut stream, &mut buffer) {
            Ok(()) => {}
            // The client has what it wanted.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset
                ) =>
            {
                return Ok(());
            }
            Err(error) => return Err(BenchError::system("answer a client")(error)),
        }
    }
}

fn answer(stream: &mut (impl Read + Write), buffer: &mut [u8]) -> std::io::Result<()> {
    let mut lengths = [0; HEADER];
    stream.read_exact(&mut lengths[..4])?;
    stream.read_exact(&mut lengths[4..])?;
    let length = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_be_bytes) as usize;
    let (request, reply) = (length(&lengths[..4]), length(&lengths[4..]));
    // Four of the bytes that the request's length counts are those of the reply's length.
    let rest = request
        .checked_sub(4)
        .and_then(|rest| buffer.get_mut(..rest));
    stream.read_exact(rest.ok_or(ErrorKind::InvalidData)?)?;
    let message = buffer.get_mut(..reply + 4).ok_or(ErrorKind::InvalidData)?;
    message[..4].copy_from_slice(&lengths[4..]);
    stream.write_all(message)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    struct Wire {
        from: Cursor<Vec<u8>>,
        to: Vec<u8>,
    }

    impl Read for Wire {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            self.from.read(bytes)
        }
    }

    impl Write for Wire {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.to.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn ask(request: Vec<u8>) -> std::io::Result<Vec<u8>> {
        let mut wire = Wire {
            from: Cursor::new(request),
            to: Vec::new(),
        };
        answer(&mut wire, &mut vec![0; mix::LONGEST])?;
        Ok(wire.to)
    }

    #[test]
    fn a_reply_is_as_long_as_asked_for() {
        // 12 bytes, of which the length counts 8; a reply of 6 bytes, of which it counts 2.
        let request = vec![0, 0, 0, 8, 0, 0, 0, 2, 9, 9, 9, 9];
        assert_eq!(ask(request).unwrap(), [0, 0, 0, 2, 0, 0]);
    }

    #[test]
    fn lengths_that_nobody_asks_for_are_errors() {
        for request in [
            vec![0, 0, 0, 3, 0, 0, 0, 2],
            vec![255, 255, 255, 255, 0, 0, 0, 2],
            vec![0, 0, 0, 4, 255, 255, 255, 255],
            vec![0, 0],
        ] {
            assert!(ask(request).is_err());
        }
    }
}
