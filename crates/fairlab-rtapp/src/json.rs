//! JSON as rt-app's users write it, with the place of everything.
//!
//! Beyond the standard, as json-c reads it: comments in the manner of C and C++, commas before a
//! closing bracket, strings in single quotes, literals in any case. As `workgen` takes it: members
//! without a value. Members keep their order, and keys may repeat; what that means is the reader's
//! business.

use crate::error::{Place, Result, RtAppError};

/// How deep arrays and objects may nest, as in json-c.
const MAX_DEPTH: u32 = 32;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A member without a value: `"suspend",`.
    Missing,
    Null,
    Bool(bool),
    Int(i64),
    /// A number that is not whole, or too large, as it stands in the file.
    Number(String),
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

impl Value {
    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Missing => "no value",
            Self::Null => "null",
            Self::Bool(_) => "a truth value",
            Self::Int(_) => "a whole number",
            Self::Number(_) => "a number that is not whole or too large",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// A value and where it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// A member of an object, and where its key is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) node: Node,
}

/// Reads a whole text.
pub(crate) fn parse(text: &str) -> Result<Node> {
    let mut reader = Reader {
        rest: text.strip_prefix('\u{feff}').unwrap_or(text),
        place: Place { line: 1, column: 1 },
    };
    reader.skip_blank()?;
    let node = reader.node(0)?;
    reader.skip_blank()?;
    match reader.peek() {
        None => Ok(node),
        Some(c) => Err(reader.error(format!(
            "nothing but comments may follow the end of the outermost object, found '{c}'"
        ))),
    }
}

struct Reader<'a> {
    rest: &'a str,
    place: Place,
}

impl<'a> Reader<'a> {
    fn error(&self, message: impl Into<String>) -> RtAppError {
        RtAppError::new(self.place, message)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.place.line += 1;
            self.place.column = 1;
        } else {
            self.place.column += 1;
        }
        Some(c)
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let all = self.rest;
        while self.peek().is_some_and(&wanted) {
            self.next();
        }
        &all[..all.len() - self.rest.len()]
    }

    fn skip_blank(&mut self) -> Result<()> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let start = self.place;
                let Some(length) = self.rest[2..].find("*/") else {
                    return Err(RtAppError::new(start, "the comment has no end '*/'"));
                };
                let after = self.rest.len() - (length + 4);
                while self.rest.len() > after {
                    self.next();
                }
            } else {
                return Ok(());
            }
        }
    }

    fn node(&mut self, depth: u32) -> Result<Node> {
        let place = self.place;
        if depth > MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let value = match self.peek() {
            None => return Err(self.error("a value is missing: the text ends here")),
            Some('{') => self.object(depth)?,
            Some('[') => self.array(depth)?,
            Some('"' | '\'') => Value::String(self.string()?),
            Some('-' | '+' | '0'..='9' | '.') => self.number()?,
            Some(_) => self.word()?,
        };
        Ok(Node { place, value })
    }

    fn object(&mut self, depth: u32) -> Result<Value> {
        let start = self.place;
        let mut members = Vec::new();
        self.next();
        loop {
            self.skip_blank()?;
            let place = self.place;
            match self.peek() {
                Some('}') => {
                    self.next();
                    return Ok(Value::Object(members));
                }
                Some('"' | '\'') => {}
                None => return Err(self.unclosed(start, "object", '}')),
                Some(c) => {
                    return Err(
                        self.error(format!("a key in quotes or '}}' is wanted, found '{c}'"))
                    );
                }
            }
            let key = self.string()?;
            let after_key = self.place;
            self.skip_blank()?;
            let node = match self.peek() {
                Some(':') => {
                    self.next();
                    self.skip_blank()?;
                    self.node(depth + 1)?
                }
                Some(',' | '}') => Node {
                    place: after_key,
                    value: Value::Missing,
                },
                None => return Err(self.unclosed(start, "object", '}')),
                Some(c) => {
                    return Err(
                        self.error(format!("':' is wanted after the key '{key}', found '{c}'"))
                    );
                }
            };
            members.push(Member { key, place, node });
            self.separator(start, "object", '}')?;
        }
    }

    fn array(&mut self, depth: u32) -> Result<Value> {
        let start = self.place;
        let mut nodes = Vec::new();
        self.next();
        loop {
            self.skip_blank()?;
            match self.peek() {
                Some(']') => {
                    self.next();
                    return Ok(Value::Array(nodes));
                }
                None => return Err(self.unclosed(start, "array", ']')),
                Some(_) => nodes.push(self.node(depth + 1)?),
            }
            self.separator(start, "array", ']')?;
        }
    }

    /// A comma, or the closing bracket, which stays.
    fn separator(&mut self, start: Place, what: &str, close: char) -> Result<()> {
        self.skip_blank()?;
        match self.peek() {
            Some(',') => {
                self.next();
                Ok(())
            }
            Some(c) if c == close => Ok(()),
            None => Err(self.unclosed(start, what, close)),
            Some(c) => Err(self.error(format!("',' or '{close}' is wanted, found '{c}'"))),
        }
    }

    fn unclosed(&self, start: Place, what: &str, close: char) -> RtAppError {
        RtAppError::new(
            start,
            format!("the {what} that begins here has no end '{close}'"),
        )
    }

    fn string(&mut self) -> Result<String> {
        let start = self.place;
        let quote = self.next();
        let mut text = String::new();
        loop {
            let here = self.place;
            match self.next() {
                c if c == quote => return Ok(text),
                None | Some('\n') => {
                    return Err(RtAppError::new(start, "the string has no closing quote"));
                }
                Some('\\') => text.push(self.escape(here)?),
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self, start: Place) -> Result<char> {
        Ok(match self.next() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some(c @ ('"' | '\'' | '\\' | '/')) => c,
            Some('u') => {
                let digits: String = (0..4).filter_map(|_| self.next()).collect();
                u32::from_str_radix(&digits, 16)
                    .ok()
                    .filter(|_| digits.bytes().all(|b| b.is_ascii_hexdigit()))
                    .and_then(char::from_u32)
                    .ok_or_else(|| {
                        RtAppError::new(start, "'\\u' wants four hexadecimal digits of a character")
                    })?
            }
            _ => return Err(RtAppError::new(start, "unknown escape in a string")),
        })
    }

    fn number(&mut self) -> Result<Value> {
        let start = self.place;
        let text = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.'));
        if let Ok(n) = text.parse() {
            return Ok(Value::Int(n));
        }
        let is_number = text.parse::<f64>().is_ok() && text.ends_with(|c: char| c.is_ascii_digit());
        if !is_number {
            return Err(RtAppError::new(start, format!("'{text}' is not a number")));
        }
        Ok(Value::Number(text.to_owned()))
    }

    fn word(&mut self) -> Result<Value> {
        let start = self.place;
        let text = self.take_while(|c| c.is_alphanumeric() || c == '_');
        match text.to_ascii_lowercase().as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "null" => Ok(Value::Null),
            "" => {
                let c = self.peek().unwrap_or(' ');
                Err(RtAppError::new(
                    start,
                    format!("a value is wanted, found '{c}'"),
                ))
            }
            _ if text.starts_with("__") && text.ends_with("__") => Err(RtAppError::new(
                start,
                format!(
                    "'{text}' is a placeholder: this file is a template; put a value in its place"
                ),
            )),
            _ => Err(RtAppError::new(
                start,
                format!("a value is wanted, found '{text}'; strings need quotes"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_error(text: &str, expected: &str) {
        assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
    }

    #[test]
    fn comments_trailing_commas_and_repeated_keys_are_taken() {
        let text = "{ // a\n /* b\n */ 'a': [1, 2,], \"a\": TRUE, 'b', }";
        let Value::Object(members) = parse(text).unwrap().value else {
            panic!("not an object")
        };
        let keys: Vec<&str> = members.iter().map(|m| m.key.as_str()).collect();
        assert_eq!(keys, ["a", "a", "b"]);
        assert_eq!(members[0].place, Place { line: 3, column: 5 });
        assert_eq!(members[1].node.value, Value::Bool(true));
        assert_eq!(members[2].node.value, Value::Missing);
    }

    #[test]
    fn errors_say_where() {
        check_error("", "1:1: a value is missing: the text ends here");
        check_error(
            "{\n 'a': 1",
            "1:1: the object that begins here has no end '}'",
        );
        check_error("{'a' 1}", "1:6: ':' is wanted after the key 'a', found '1'");
        check_error("{'a': 1 'b': 2}", "1:9: ',' or '}' is wanted, found '''");
        check_error("{a: 1}", "1:2: a key in quotes or '}' is wanted, found 'a'");
        check_error("/* x", "1:1: the comment has no end '*/'");
        check_error("[1, \"x]\n", "1:5: the string has no closing quote");
        check_error("[1x]", "1:2: '1x' is not a number");
        check_error(
            "{} }",
            "1:4: nothing but comments may follow the end of the outermost object, found '}'",
        );
        check_error(&"[".repeat(1000), "1:34: nested deeper than 32 levels");
        check_error(
            "['\\u12']",
            "1:3: '\\u' wants four hexadecimal digits of a character",
        );
    }

    #[test]
    fn numbers_are_whole_or_kept_as_they_stand() {
        for (text, value) in [
            ("-1", Value::Int(-1)),
            ("2147483648", Value::Int(2_147_483_648)),
            ("1.5", Value::Number("1.5".into())),
            ("1e3", Value::Number("1e3".into())),
            (
                "99999999999999999999",
                Value::Number("99999999999999999999".into()),
            ),
        ] {
            assert_eq!(parse(text).unwrap().value, value, "{text}");
        }
    }
}
