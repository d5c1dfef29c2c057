//! Which calls a client makes, how often, and how large they and their replies are.

use fairlab_rng::Rng;

/// A call and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// How many of 100 000 calls are like this.
    weight: u64,
    /// Bytes of the request.
    pub request: u32,
    /// Bytes of the reply.
    pub reply: u32,
    /// Bytes of file data in one of them.
    pub payload: u32,
}

/// Bytes around the data of a read or write.
const READ_REQUEST: u32 = 59;
const READ_REPLY: u32 = 59;
const WRITE_REQUEST: u32 = 59;
const WRITE_REPLY: u32 = 55;

const fn read(weight: u64, bytes: u32) -> Call {
    Call {
        weight,
        request: READ_REQUEST,
        reply: READ_REPLY + bytes,
        payload: bytes,
    }
}

const fn write(weight: u64, bytes: u32) -> Call {
    Call {
        weight,
        request: WRITE_REQUEST + bytes,
        reply: WRITE_REPLY,
        payload: bytes,
    }
}

const fn other(weight: u64, request: u32, reply: u32) -> Call {
    Call {
        weight,
        request,
        reply,
        payload: 0,
    }
}

/// The calls.
///
/// # Source
/// Frequencies and data sizes: counted in `client.txt` of dbench 4.0 (458 344 calls), rare sizes merged
/// into one of their mean. Sizes of messages:
/// those of the frequent calls were observed on tbench's sockets; those of rare calls (replies of find,
/// rename, facts of the file system) are estimates.
const CALLS: [Call; 23] = [
    read(18_146, 4096),
    read(3631, 61_440),
    read(1013, 8192),
    read(1013, 2048),
    read(423, 16_384),
    read(84, 32_768),
    read(2787, 1338),
    write(2762, 65_536),
    write(2169, 4096),
    write(1620, 1),
    write(366, 2048),
    write(254, 8192),
    write(1448, 19_998),
    other(17_286, 138, 71), // open or create
    other(15_668, 156, 87), // facts about a path
    other(12_698, 47, 39),  // close
    other(6058, 111, 600),  // find
    other(3491, 129, 39),   // remove
    other(2873, 45, 60),    // facts about the file system
    other(2746, 47, 60),    // facts about a file
    other(1408, 71, 47),    // change facts
    other(1324, 41, 39),    // flush, lock, unlock
    other(732, 200, 39),    // rename
];

/// The sum of all weights.
const TOTAL: u64 = {
    let (mut sum, mut index) = (0, 0);
    while index < CALLS.len() {
        sum += CALLS[index].weight;
        index += 1;
    }
    sum
};

/// The longest message.
pub const LONGEST: usize = (WRITE_REQUEST + 65_536) as usize;

/// The next call.
pub fn draw(rng: &mut Rng) -> Call {
    let mut rest = rng.below(TOTAL);
    for call in CALLS {
        if rest < call.weight {
            return call;
        }
        rest -= call.weight;
    }
    // The weights sum up to what was drawn below.
    CALLS[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_are_parts_of_a_hundred_thousand() {
        assert_eq!(TOTAL, 100_000);
    }

    #[test]
    fn a_call_moves_as_much_data_as_in_the_file() {
        // 124 199 reads of 11 852.7 bytes and 39 502 writes of 25 719.6, in 458 344 calls.
        let expected = (124_199.0 * 11_852.7 + 39_502.0 * 25_719.6) / 458_344.0;
        let sum: u64 = CALLS
            .iter()
            .map(|call| call.weight * u64::from(call.payload))
            .sum();
        let mean = sum as f64 / TOTAL as f64;
        // Weights are rounded to 1 in 100 000; the largest call moves 65 536 bytes.
        assert!((mean - expected).abs() < 10.0, "{mean} {expected}");
    }

    #[test]
    fn no_message_is_longer_than_the_longest() {
        let longest = CALLS.iter().map(|call| call.request.max(call.reply)).max();
        assert_eq!(longest.map(|bytes| bytes as usize), Some(LONGEST));
    }
}
