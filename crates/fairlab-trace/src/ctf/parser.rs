//! The grammar of descriptions.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::lexer::{Token, tokens};
use super::types::{Clock, EventType, Int, Size, StreamType, Struct, Trace, Type};

/// Types within types; more is an attack on the stack.
const DEEPEST: u32 = 60;

/// Reads a description. What stands before an error is kept, and the error said.
pub(super) fn parse(text: &str) -> (Trace, Option<String>) {
    let mut parser = Parser {
        tokens: tokens(text),
        at: 0,
        names: BTreeMap::new(),
        trace: Trace::default(),
        depth: 0,
    };
    let mut problem = None;
    while parser.at < parser.tokens.len() {
        let start = parser.at;
        if parser.statement().is_none() {
            let line = parser.tokens.get(parser.at.min(parser.tokens.len() - 1));
            let line = line.map_or(0, |(_, line)| *line);
            problem = problem.or(Some(format!(
                "line {line} of the description cannot be read; its statement is left out"
            )));
            parser.at = start;
            parser.skip_statement();
        }
    }
    (parser.trace, problem)
}

struct Parser {
    tokens: Vec<(Token, u32)>,
    at: usize,
    /// Named types: `struct x` for tagged ones, plain words for others.
    names: BTreeMap<String, Rc<Type>>,
    trace: Trace,
    depth: u32,
}

/// `name = value` or `name := type`.
enum Setting {
    Value(String),
    Type(Rc<Type>),
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn is_sign(&self, sign: char) -> bool {
        self.peek() == Some(&Token::Sign(sign))
    }

    fn take_sign(&mut self, sign: char) -> bool {
        let is = self.is_sign(sign);
        if is {
            self.at += 1;
        }
        is
    }

    fn expect(&mut self, sign: char) -> Option<()> {
        self.take_sign(sign).then_some(())
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(found)) if found == word)
    }

    fn word(&mut self) -> Option<String> {
        match self.next()? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Goes behind the next `;` that is in no braces.
    fn skip_statement(&mut self) {
        let mut depth = 0u32;
        while let Some(token) = self.next() {
            match token {
                Token::Sign('{') => depth += 1,
                Token::Sign('}') => depth = depth.saturating_sub(1),
                Token::Sign(';') if depth == 0 => return,
                _ => {}
            }
        }
    }

    fn statement(&mut self) -> Option<()> {
        if self.take_sign(';') {
            return Some(());
        }
        let Some(Token::Word(word)) = self.peek() else {
            return None;
        };
        match word.as_str() {
            "typealias" => {
                self.at += 1;
                self.typealias()
            }
            "typedef" => {
                self.at += 1;
                let (name, kind) = self.field()?;
                self.names.insert(name, kind);
                Some(())
            }
            "trace" | "env" | "clock" | "stream" | "event" | "callsite"
                if self.tokens.get(self.at + 1).map(|(token, _)| token)
                    == Some(&Token::Sign('{')) =>
            {
                let block = self.word()?;
                let settings = self.settings()?;
                self.block(&block, settings);
                self.expect(';')
            }
            _ => {
                self.kind()?;
                self.expect(';')
            }
        }
    }

    fn typealias(&mut self) -> Option<()> {
        let kind = self.kind()?;
        if self.next()? != Token::Assign {
            return None;
        }
        let mut name = Vec::new();
        while !self.is_sign(';') {
            name.push(self.word()?);
        }
        self.names.insert(name.join(" "), kind);
        self.expect(';')
    }

    /// What is between the braces of a block.
    fn settings(&mut self) -> Option<Vec<(String, Setting)>> {
        self.expect('{')?;
        let mut settings = Vec::new();
        while !self.take_sign('}') {
            if self.is_word("typealias") || self.is_word("typedef") {
                self.statement()?;
                continue;
            }
            if self.is_word("struct") || self.is_word("enum") || self.is_word("variant") {
                self.kind()?;
                self.expect(';')?;
                continue;
            }
            let name = self.word()?;
            match self.next()? {
                Token::Assign => settings.push((name, Setting::Type(self.kind()?))),
                Token::Sign('=') => {
                    let mut value = String::new();
                    while !self.is_sign(';') {
                        match self.next()? {
                            Token::Word(word) => value.push_str(&word),
                            Token::Text(text) => value.push_str(&text),
                            Token::Number(number) => value.push_str(&number.to_string()),
                            _ => {}
                        }
                    }
                    settings.push((name, Setting::Value(value)));
                }
                _ => return None,
            }
            self.expect(';')?;
        }
        Some(settings)
    }

    fn block(&mut self, block: &str, settings: Vec<(String, Setting)>) {
        let value = |name: &str| {
            settings.iter().find_map(|(key, setting)| match setting {
                Setting::Value(value) if key == name => Some(value.clone()),
                _ => None,
            })
        };
        let number = |name: &str| value(name).and_then(|value| value.parse::<u64>().ok());
        let kind = |name: &str| {
            settings.iter().find_map(|(key, setting)| match setting {
                Setting::Type(kind) if key == name => Some(kind.clone()),
                _ => None,
            })
        };
        match block {
            "trace" => {
                self.trace.is_big_endian = value("byte_order")
                    .is_some_and(|order| matches!(order.as_str(), "be" | "network"));
                self.trace.packet_header = kind("packet.header");
            }
            "env" => {
                for (name, setting) in settings {
                    if let Setting::Value(value) = setting {
                        self.trace.env.push((name, value));
                    }
                }
            }
            "clock" => self.trace.clocks.push(Clock {
                name: value("name").unwrap_or_default(),
                frequency: number("freq")
                    .filter(|&freq| freq > 0)
                    .unwrap_or(1_000_000_000),
            }),
            "stream" => self.trace.streams.push(StreamType {
                id: number("id").unwrap_or(0),
                packet_context: kind("packet.context"),
                event_header: kind("event.header"),
                event_context: kind("event.context"),
            }),
            "event" => self.trace.events.push(EventType {
                name: value("name").unwrap_or_default(),
                id: number("id").unwrap_or(0),
                stream: number("stream_id").unwrap_or(0),
                context: kind("context"),
                fields: kind("fields"),
            }),
            _ => {}
        }
    }

    /// A type.
    fn kind(&mut self) -> Option<Rc<Type>> {
        self.depth += 1;
        let kind = if self.depth > DEEPEST {
            None
        } else {
            self.kind_within()
        };
        self.depth -= 1;
        kind
    }

    fn kind_within(&mut self) -> Option<Rc<Type>> {
        let Some(Token::Word(word)) = self.peek() else {
            return None;
        };
        match word.as_str() {
            "integer" => {
                self.at += 1;
                self.integer().map(Type::Int).map(Rc::new)
            }
            "floating_point" => {
                self.at += 1;
                self.float()
            }
            "string" => {
                self.at += 1;
                if self.is_sign('{') {
                    self.settings()?;
                }
                Some(Rc::new(Type::Text))
            }
            "enum" => {
                self.at += 1;
                self.enumeration()
            }
            "struct" => {
                self.at += 1;
                self.structure()
            }
            "variant" => {
                self.at += 1;
                self.variant()
            }
            _ => {
                // A named type of one or more words; a field's name may follow, so the longest name that
                // is known counts.
                let mut name = String::new();
                let mut found = None;
                let mut at = self.at;
                while let Some((Token::Word(word), _)) = self.tokens.get(at) {
                    if !name.is_empty() {
                        name.push(' ');
                    }
                    name.push_str(word);
                    at += 1;
                    if let Some(kind) = self.names.get(&name) {
                        found = Some((kind.clone(), at));
                    }
                    if name.len() > 200 {
                        break;
                    }
                }
                let (kind, end) = found?;
                self.at = end;
                Some(kind)
            }
        }
    }

    fn values(&mut self) -> Option<Vec<(String, String)>> {
        let settings = self.settings()?;
        Some(
            settings
                .into_iter()
                .filter_map(|(name, setting)| match setting {
                    Setting::Value(value) => Some((name, value)),
                    Setting::Type(_) => None,
                })
                .collect(),
        )
    }

    fn integer(&mut self) -> Option<Int> {
        let values = self.values()?;
        let value = |name: &str| {
            values
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.as_str())
        };
        let size: u32 = value("size")?.parse().ok()?;
        if size == 0 || size > 64 {
            return None;
        }
        let align = match value("align") {
            Some(align) => align.parse().ok().filter(|&align| is_align(align))?,
            None if size.is_multiple_of(8) => 8,
            None => 1,
        };
        Some(Int {
            size,
            align,
            is_signed: matches!(value("signed"), Some("true" | "1" | "TRUE")),
            is_big_endian: match value("byte_order") {
                Some("be" | "network") => Some(true),
                Some("le") => Some(false),
                _ => None,
            },
            is_time: value("map").is_some_and(|map| map.starts_with("clock.")),
        })
    }

    fn float(&mut self) -> Option<Rc<Type>> {
        let values = self.values()?;
        let number = |name: &str| {
            values
                .iter()
                .find(|(key, _)| key == name)
                .and_then(|(_, value)| value.parse::<u32>().ok())
        };
        let size = number("exp_dig")?.checked_add(number("mant_dig")?)?;
        Some(Rc::new(Type::Float {
            size: size.min(128),
            align: number("align")
                .filter(|&align| is_align(align))
                .unwrap_or(8),
        }))
    }

    fn enumeration(&mut self) -> Option<Rc<Type>> {
        let name = self.tag_name();
        let int = if self.take_sign(':') {
            match self.kind()?.as_ref() {
                Type::Int(int) => int.clone(),
                _ => return None,
            }
        } else {
            Int {
                size: 32,
                align: 8,
                is_signed: true,
                is_big_endian: None,
                is_time: false,
            }
        };
        if !self.is_sign('{') {
            return self.names.get(&format!("enum {}", name?)).cloned();
        }
        self.at += 1;
        let mut labels = Vec::new();
        let mut following = 0i64;
        while !self.take_sign('}') {
            let label = match self.next()? {
                Token::Word(word) | Token::Text(word) => word,
                _ => return None,
            };
            let (mut first, mut last) = (following, following);
            if self.take_sign('=') {
                let Token::Number(number) = self.next()? else {
                    return None;
                };
                (first, last) = (number, number);
                if self.peek() == Some(&Token::Dots) {
                    self.at += 1;
                    let Token::Number(number) = self.next()? else {
                        return None;
                    };
                    last = number;
                }
            }
            following = last.wrapping_add(1);
            labels.push((label, first, last));
            self.take_sign(',');
        }
        Some(self.named("enum", name, Type::Enum { int, labels }))
    }

    fn structure(&mut self) -> Option<Rc<Type>> {
        let name = self.tag_name();
        if !self.is_sign('{') {
            return self.names.get(&format!("struct {}", name?)).cloned();
        }
        let fields = self.fields()?;
        let mut align = 1;
        if self.is_word("align") {
            self.at += 1;
            self.expect('(')?;
            let Token::Number(number) = self.next()? else {
                return None;
            };
            align = u32::try_from(number)
                .ok()
                .filter(|&align| is_align(align))?;
            self.expect(')')?;
        }
        for (_, kind) in &fields {
            align = align.max(kind.align());
        }
        let size = Size::of(&fields)?;
        Some(self.named(
            "struct",
            name,
            Type::Struct(Struct {
                fields,
                align,
                size,
            }),
        ))
    }

    fn variant(&mut self) -> Option<Rc<Type>> {
        let name = self.tag_name();
        let mut tag = None;
        if self.take_sign('<') {
            tag = Some(self.word()?);
            self.expect('>')?;
        }
        if !self.is_sign('{') {
            let known = self.names.get(&format!("variant {}", name?))?.clone();
            return match (known.as_ref(), tag) {
                (Type::Variant { options, size, .. }, Some(tag)) => Some(Rc::new(Type::Variant {
                    tag: Some(tag),
                    options: options.clone(),
                    size: *size,
                })),
                _ => Some(known),
            };
        }
        let options = self.fields()?;
        let size = Size::of(&options)?;
        Some(self.named("variant", name, Type::Variant { tag, options, size }))
    }

    /// The name behind `struct`, `enum` or `variant`.
    fn tag_name(&mut self) -> Option<String> {
        match self.peek() {
            Some(Token::Word(word)) if word != "align" => {
                let word = word.clone();
                self.at += 1;
                Some(word)
            }
            _ => None,
        }
    }

    fn named(&mut self, what: &str, name: Option<String>, kind: Type) -> Rc<Type> {
        let kind = Rc::new(kind);
        if let Some(name) = name {
            self.names.insert(format!("{what} {name}"), kind.clone());
        }
        kind
    }

    fn fields(&mut self) -> Option<Vec<(String, Rc<Type>)>> {
        self.expect('{')?;
        let mut fields = Vec::new();
        while !self.take_sign('}') {
            if self.is_word("typealias") || self.is_word("typedef") {
                self.statement()?;
                continue;
            }
            fields.push(self.field()?);
        }
        Some(fields)
    }

    /// `type name[len][len];`
    fn field(&mut self) -> Option<(String, Rc<Type>)> {
        let kind = self.kind()?;
        let name = self.word()?;
        let mut lengths = Vec::new();
        while self.take_sign('[') {
            lengths.push(self.next()?);
            self.expect(']')?;
        }
        self.expect(';')?;
        let mut kind = kind;
        for length in lengths.into_iter().rev() {
            kind = Rc::new(match length {
                Token::Number(number) => Type::Array {
                    element: kind,
                    len: u64::try_from(number).ok()?,
                },
                Token::Word(len) => Type::Sequence { element: kind, len },
                _ => return None,
            });
        }
        // An array of arrays of ... is deep, too.
        let named = [(name, kind)];
        Size::of(&named)?;
        let [(name, kind)] = named;
        Some((name, kind))
    }
}

/// Alignments are powers of two; ours are relative to 64 bits.
fn is_align(align: u32) -> bool {
    align.is_power_of_two() && align <= 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_with_all_kinds_of_types_is_read() {
        let text = r#"/* CTF 1.8 */
            typealias integer { size = 5; align = 1; signed = false; } := uint5_t;
            typealias integer { size = 27; align = 1; signed = false; map = clock.m.value; } := t27;
            typealias integer { size = 64; align = 8; } := unsigned long;
            trace { major = 1; byte_order = be; packet.header := struct { unsigned long magic; }; };
            env { hostname = "h"; tracer_major = 2; };
            clock { name = m; freq = 1000; };
            struct header {
                enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
                variant <id> { struct { t27 timestamp; } compact; struct { unsigned long id; } extended; } v;
            } align(8);
            stream { id = 1; event.header := struct header; };
            event { name = "x:y"; id = 3; stream_id = 1; fields := struct {
                unsigned long len; uint5_t data[ len ]; string s; integer { size = 8; } a[16]; }; };"#;
        let (trace, problem) = parse(text);
        assert_eq!(problem, None);
        assert!(trace.is_big_endian);
        assert_eq!(trace.clocks[0].frequency, 1000);
        assert_eq!(trace.env[1], ("tracer_major".into(), "2".into()));
        let Some(Type::Struct(fields)) = trace.events[0].fields.as_deref() else {
            panic!();
        };
        assert!(matches!(fields.fields[1].1.as_ref(), Type::Sequence { len, .. } if len == "len"));
        assert!(matches!(
            fields.fields[3].1.as_ref(),
            Type::Array { len: 16, .. }
        ));
        let Some(Type::Struct(header)) = trace.streams[0].event_header.as_deref() else {
            panic!();
        };
        assert!(
            matches!(header.fields[1].1.as_ref(), Type::Variant { tag: Some(tag), .. } if tag == "id")
        );
    }

    #[test]
    fn nesting_without_end_is_refused() {
        let text = "struct {".repeat(10_000);
        assert!(parse(&text).1.is_some());
    }
}
