//! The kernel's `format` files: which field of an event is where.

/// A `format` file, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventFormat {
    pub name: String,
    pub id: u32,
    pub fields: Vec<Field>,
    pub print: String,
}

/// One field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub name: String,
    pub offset: u32,
    pub size: u32,
    pub is_signed: bool,
    /// The field holds offset and length of its data, which are elsewhere in the event.
    pub is_data_loc: bool,
    /// The same, counted from the end of the field.
    pub is_rel_loc: bool,
}

impl EventFormat {
    /// Reads a `format` file; `None` if it has no name or number.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut name = None;
        let mut id = None;
        let mut fields = Vec::new();
        let mut print = String::new();
        for line in text.lines() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("name:") {
                name = Some(rest.trim().to_owned());
            } else if let Some(rest) = line.strip_prefix("ID:") {
                id = rest.trim().parse().ok();
            } else if let Some(rest) = line.strip_prefix("field:") {
                fields.extend(Field::parse(rest));
            } else if let Some(rest) = line.strip_prefix("print fmt:") {
                rest.trim().clone_into(&mut print);
            }
        }
        Some(Self {
            name: name?,
            id: id?,
            fields,
            print,
        })
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Field {
    /// Reads `char prev_comm[16];\toffset:8;\tsize:16;\tsigned:1;`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let declaration = parts.next()?.trim();
        let (mut offset, mut size, mut is_signed) = (None, None, None);
        for part in parts {
            match part.trim().split_once(':') {
                Some(("offset", number)) => offset = number.trim().parse().ok(),
                Some(("size", number)) => size = number.trim().parse().ok(),
                Some(("signed", number)) => is_signed = Some(number.trim() != "0"),
                _ => {}
            }
        }
        let word = declaration.split_whitespace().next_back()?;
        let word = word.trim_start_matches('*');
        Some(Self {
            name: word.split('[').next()?.to_owned(),
            offset: offset?,
            size: size?,
            // Kernels before 2.6.32 do not say; their tracepoints say it by type.
            is_signed: is_signed.unwrap_or_else(|| !declaration.contains("unsigned")),
            is_data_loc: declaration.contains("__data_loc"),
            is_rel_loc: declaration.contains("__rel_loc"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_file_is_taken_apart() {
        let text = "name: x\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
            \tfield:__data_loc char[] comm;\toffset:8;\tsize:4;\tsigned:1;\n\
            \tfield:char prev_comm[16];\toffset:12;\tsize:16;\tsigned:0;\n\nprint fmt: \"%s\", REC->x\n";
        let format = EventFormat::parse(text).unwrap();
        assert_eq!((format.name.as_str(), format.id), ("x", 7));
        assert!(format.field("comm").unwrap().is_data_loc);
        assert_eq!(format.field("prev_comm").unwrap().size, 16);
        assert_eq!(format.print, "\"%s\", REC->x");
    }
}
