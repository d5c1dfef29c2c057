//! Words of a description.

/// A word with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    Number(i64),
    Text(String),
    /// One of `{ } [ ] ( ) < > ; , : =`.
    Sign(char),
    /// `:=`
    Assign,
    /// `...`
    Dots,
}

/// Splits a description; gives tokens with the numbers of their lines. What is no token is left out.
pub(super) fn tokens(text: &str) -> Vec<(Token, u32)> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let start_line = line;
        let token = match byte {
            b'\n' => {
                line += 1;
                at += 1;
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                let end = memchr::memmem::find(&rest[2..], b"*/").map_or(rest.len(), |end| end + 4);
                line += memchr::memchr_iter(b'\n', &rest[..end]).count() as u32;
                at += end;
                continue;
            }
            b'/' if rest.starts_with(b"//") => {
                at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                continue;
            }
            b'"' => {
                let (text, len) = quoted(rest);
                line += memchr::memchr_iter(b'\n', &rest[..len]).count() as u32;
                at += len;
                Token::Text(text)
            }
            b':' if rest.starts_with(b":=") => {
                at += 2;
                Token::Assign
            }
            b'.' if rest.starts_with(b"...") => {
                at += 3;
                Token::Dots
            }
            b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'<' | b'>' | b';' | b',' | b':' | b'=' => {
                at += 1;
                Token::Sign(char::from(byte))
            }
            b'0'..=b'9' | b'-' | b'+' => {
                let end = rest
                    .iter()
                    .skip(1)
                    .position(|byte| !byte.is_ascii_alphanumeric())
                    .map_or(rest.len(), |end| end + 1);
                at += end;
                match number(&text[at - end..at]) {
                    Some(number) => Token::Number(number),
                    None => continue,
                }
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                let is_part = |at: usize| match rest.get(at) {
                    Some(b'.') => rest.get(at + 1) != Some(&b'.'),
                    Some(byte) => byte.is_ascii_alphanumeric() || *byte == b'_',
                    None => false,
                };
                let mut end = 1;
                while is_part(end) {
                    end += 1;
                }
                at += end;
                Token::Word(text[at - end..at].to_owned())
            }
            _ => {
                at += 1;
                continue;
            }
        };
        tokens.push((token, start_line));
    }
    tokens
}

/// The text between quotes, and how many bytes it takes with them.
fn quoted(bytes: &[u8]) -> (String, usize) {
    let mut text = Vec::new();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => break,
            b'\\' => {
                let escaped = bytes.get(at).copied().unwrap_or(b'\\');
                at += 1;
                text.push(match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    other => other,
                });
            }
            other => text.push(other),
        }
    }
    (
        String::from_utf8_lossy(&text).into_owned(),
        at.min(bytes.len()),
    )
}

fn number(text: &str) -> Option<i64> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.trim_start_matches('+')),
    };
    let digits = digits.trim_end_matches(['u', 'U', 'l', 'L']);
    let number = if let Some(hex) = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        u64::from_str_radix(hex, 16).ok()?
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(&digits[1..], 8).ok()?
    } else {
        digits.parse().ok()?
    };
    let number = number as i64;
    Some(if is_negative {
        number.wrapping_neg()
    } else {
        number
    })
}
