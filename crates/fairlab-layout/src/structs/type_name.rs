//! Types and declarations in the words of C, spaced as `pahole` spaces them.

use crate::types::{Qualifier, Type, TypeId, Types};

/// Deeper types are cut off; only lying files have them.
const DEPTH: usize = 32;

/// Longer texts are cut off: types of functions that take functions can grow without limit.
const LONGEST: usize = 4096;

/// Types that are looked at for one declaration. Functions that return and take functions could be
/// followed in more ways than there is time for.
const BUDGET: u32 = 1000;

/// The type part and the name part of a declaration: `struct task_struct *` and `parent`, or `void`
/// and `(*fn)(int)`.
pub fn declaration(types: &Types, id: TypeId, name: &str) -> (String, String) {
    let (mut prefix, mut suffix) = (String::new(), String::new());
    let mut id = id;
    // Arrays of arrays print all their dimensions after the name.
    for _ in 0..DEPTH {
        match types.get(id) {
            Type::Array { element, count } => {
                match count {
                    Some(count) if *count > 0 => suffix.push_str(&format!("[{count}]")),
                    Some(_) => suffix.push_str("[0]"),
                    None => suffix.push_str("[]"),
                }
                id = *element;
            }
            Type::Qualified { qualifier, target } => {
                let inner = types.get(*target);
                if !matches!(inner, Type::Array { .. } | Type::Pointer(_)) {
                    break;
                }
                prefix.push_str(word(*qualifier));
                prefix.push(' ');
                id = *target;
            }
            _ => break,
        }
    }
    if let Some((stars, function)) = function_pointer(types, id)
        && let Type::Function {
            result,
            parameters,
            is_variadic,
        } = types.get(function)
    {
        let stars = "*".repeat(stars);
        let list = parameter_list(types, parameters, *is_variadic, DEPTH, &mut { BUDGET });
        return (
            type_name(types, *result).trim_end().to_owned(),
            format!("({stars}{name}{suffix}){list}"),
        );
    }
    prefix.push_str(type_name(types, id).trim_end());
    (prefix, format!("{name}{suffix}"))
}

fn word(qualifier: Qualifier) -> &'static str {
    match qualifier {
        Qualifier::Const => "const",
        Qualifier::Volatile => "volatile",
        Qualifier::Restrict => "restrict",
        Qualifier::Atomic => "_Atomic",
    }
}

/// Is it one or more pointers to a function's type?
fn function_pointer(types: &Types, mut id: TypeId) -> Option<(usize, TypeId)> {
    let mut stars = 0;
    while let Type::Pointer(target) = types.get(id) {
        stars += 1;
        id = *target;
        if stars > DEPTH {
            return None;
        }
    }
    (stars > 0 && matches!(types.get(id), Type::Function { .. })).then_some((stars, id))
}

fn parameter_list(
    types: &Types,
    parameters: &[TypeId],
    is_variadic: bool,
    depth: usize,
    budget: &mut u32,
) -> String {
    let mut text = String::from("(");
    for (i, parameter) in parameters.iter().enumerate() {
        if i > 0 {
            text.push_str(", ");
        }
        text.push_str(&name_within(
            types,
            *parameter,
            depth.saturating_sub(1),
            budget,
        ));
        if text.len() > LONGEST {
            break;
        }
    }
    if is_variadic {
        text.push_str(if parameters.is_empty() {
            "..."
        } else {
            ", ..."
        });
    } else if parameters.is_empty() {
        text.push_str("void");
    }
    text.push(')');
    text
}

/// A type without a name to declare: `const char  *`.
pub(super) fn type_name(types: &Types, id: TypeId) -> String {
    name_within(types, id, DEPTH, &mut { BUDGET })
}

fn name_within(types: &Types, id: TypeId, depth: usize, budget: &mut u32) -> String {
    let (Some(depth), Some(left)) = (depth.checked_sub(1), budget.checked_sub(1)) else {
        return "...".to_owned();
    };
    *budget = left;
    let mut text = match types.get(id) {
        Type::Void => "void".to_owned(),
        Type::Base { name, .. } => types.name(*name).to_owned(),
        Type::Typedef { name, target } => match types.name(*name) {
            // A tag, transparent.
            "" => name_within(types, *target, depth, budget),
            name => name.to_owned(),
        },
        Type::Pointer(target) => match types.get(*target) {
            Type::Function {
                result,
                parameters,
                is_variadic,
            } => {
                let result = name_within(types, *result, depth, budget);
                let list = parameter_list(types, parameters, *is_variadic, depth, budget);
                format!("{result} (*){list}")
            }
            _ => format!("{} *", name_within(types, *target, depth, budget)),
        },
        Type::Array { element, .. } => format!("{} *", name_within(types, *element, depth, budget)),
        Type::Composite(composite) => {
            let keyword = if composite.is_union {
                "union"
            } else {
                "struct"
            };
            match composite.name {
                Some(name) => format!("{keyword} {}", types.name(name)),
                None => format!("{keyword} {{...}}"),
            }
        }
        Type::Enumeration { name, .. } => match name {
            Some(name) => format!("enum {}", types.name(*name)),
            None => "enum {...}".to_owned(),
        },
        Type::Forward { name, is_union } => {
            let keyword = if *is_union { "union" } else { "struct" };
            format!("{keyword} {}", types.name(*name))
        }
        Type::Qualified { qualifier, target } => {
            let word = word(*qualifier);
            match types.get(*target) {
                // `char * const`: what is constant is the pointer.
                Type::Pointer(_) => {
                    format!("{} {word}", name_within(types, *target, depth, budget))
                }
                _ => format!("{word} {} ", name_within(types, *target, depth, budget)),
            }
        }
        Type::Function {
            result,
            parameters,
            is_variadic,
        } => {
            let result = name_within(types, *result, depth, budget);
            let list = parameter_list(types, parameters, *is_variadic, depth, budget);
            format!("{result} {list}")
        }
    };
    if text.len() > LONGEST {
        let mut end = LONGEST;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}
