//! XML text to hwloc objects, without any judgement about them.

use std::collections::BTreeMap;

use fairlab_topology::Machine;
use fairlab_units::CpuMask;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

/// hwloc nests about 20 levels; PCI bridges add some.
const DEPTH_LIMIT: usize = 200;
const OBJECT_LIMIT: usize = 200_000;

/// An object that takes part in the topology.
#[derive(Debug, Default)]
pub(super) struct Object {
    pub kind: String,
    pub os_index: Option<u32>,
    /// The `cpuset` attribute.
    pub cpuset: Option<CpuMask>,
    /// The PUs inside, by their `os_index`.
    pub pus: Vec<u32>,
    pub attributes: BTreeMap<String, String>,
    pub infos: BTreeMap<String, String>,
}

/// `cpukind` of 2.4 and later.
#[derive(Debug, Default)]
pub(super) struct CpuKind {
    pub cpuset: Option<CpuMask>,
    pub efficiency: Option<i32>,
    pub infos: BTreeMap<String, String>,
}

/// A table of node distances, row by row.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Numbers of the nodes; `None`: all nodes in the order of the document.
    pub nodes: Option<Vec<u32>>,
    pub values: Vec<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Document {
    pub objects: Vec<Object>,
    /// Facts about the whole machine.
    pub infos: BTreeMap<String, String>,
    pub kinds: Vec<CpuKind>,
    pub distances: Option<Table>,
}

/// What is wrong, and at which byte.
pub(super) struct DocumentError {
    pub offset: usize,
    pub problem: String,
}

pub(super) fn read(text: &str) -> Result<Document, DocumentError> {
    let mut reader = Reader::from_str(text);
    let mut state = State::default();
    loop {
        let offset = reader.buffer_position() as usize;
        let event = reader.read_event().map_err(|e| DocumentError {
            offset: reader.error_position() as usize,
            problem: format!("not well-formed XML: {e}"),
        })?;
        let at = |problem: String| DocumentError { offset, problem };
        match event {
            Event::Start(start) => {
                state.open(&start).map_err(at)?;
                if state.depth.len() > DEPTH_LIMIT {
                    return Err(at(format!(
                        "elements are nested more than {DEPTH_LIMIT} deep, so it is refused"
                    )));
                }
            }
            Event::Empty(start) => {
                state.open(&start).map_err(at)?;
                state.close();
            }
            Event::End(_) => state.close(),
            Event::Text(content) => state.text(&content),
            Event::DocType(doctype) if doctype.contains("<!ENTITY") => {
                return Err(at(
                    "entity declarations are refused; hwloc writes none".to_owned()
                ));
            }
            Event::GeneralRef(_) => {
                return Err(at(
                    "an entity between elements; hwloc writes none".to_owned()
                ));
            }
            Event::Eof => break,
            _ => {}
        }
    }
    let end = |problem: &str| DocumentError {
        offset: text.len(),
        problem: problem.to_owned(),
    };
    if !state.seen_root {
        return Err(end("no <topology> element: this is no hwloc export"));
    }
    if !state.depth.is_empty() {
        return Err(end("the file ends inside an element: it is cut off"));
    }
    Ok(state.document)
}

/// What an open element is to us.
enum Element {
    /// Index into the objects.
    Object(usize),
    Kind,
    /// 1.x: the base that latencies are multiplied with.
    Latencies(Table, f64),
    /// 2.x.
    Distances(Table, Vec<u64>),
    Indexes,
    Values,
    Other,
}

#[derive(Default)]
struct State {
    document: Document,
    depth: Vec<Element>,
    seen_root: bool,
    nr_pus: usize,
}

type Attributes = BTreeMap<String, String>;

fn attributes(start: &BytesStart<'_>) -> Result<Attributes, String> {
    let mut result = Attributes::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|e| format!("a broken attribute: {e}"))?;
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|e| format!("a broken attribute value: {e}"))?;
        result.insert(attribute.key.0.to_owned(), value.into_owned());
    }
    Ok(result)
}

impl State {
    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        let name = start.name().0.to_owned();
        if self.depth.is_empty() && !self.seen_root {
            if name != "topology" {
                return Err(format!(
                    "the root element is <{name}>, not <topology> of hwloc"
                ));
            }
            self.seen_root = true;
        }
        let element = match name.as_str() {
            "object" => self.object(attributes(start)?)?,
            "info" => {
                self.info(attributes(start)?);
                Element::Other
            }
            "cpukind" => {
                let attributes = attributes(start)?;
                self.document.kinds.push(CpuKind {
                    cpuset: attributes.get("cpuset").and_then(|s| set(s)),
                    efficiency: attributes
                        .get("forced_efficiency")
                        .and_then(|e| e.parse().ok()),
                    infos: Attributes::new(),
                });
                Element::Kind
            }
            "distances" => {
                let attributes = attributes(start)?;
                let base = attributes
                    .get("latency_base")
                    .and_then(|b| b.parse().ok())
                    .unwrap_or(1.0);
                Element::Latencies(Table::default(), base)
            }
            "latency" => {
                let value = attributes(start)?
                    .get("value")
                    .and_then(|v| v.parse::<f64>().ok());
                if let (Some(Element::Latencies(table, base)), Some(value)) =
                    (self.depth.last_mut(), value)
                {
                    let product = (value * *base).round();
                    table.values.push(product.clamp(0.0, 1e6) as u64);
                }
                Element::Other
            }
            "distances2" => {
                let attributes = attributes(start)?;
                let is = |key: &str, wanted: &str| attributes.get(key).is_some_and(|v| v == wanted);
                if is("type", "NUMANode") && is("name", "NUMALatency") && !is("indexing", "gp") {
                    Element::Distances(Table::default(), Vec::new())
                } else {
                    Element::Other
                }
            }
            "indexes" => Element::Indexes,
            "u64values" => Element::Values,
            _ => Element::Other,
        };
        self.depth.push(element);
        Ok(())
    }

    fn object(&mut self, mut attributes: Attributes) -> Result<Element, String> {
        let kind = attributes
            .remove("type")
            .ok_or("an <object> without a type")?;
        let os_index: Option<u32> = attributes.get("os_index").and_then(|i| i.parse().ok());
        if self.document.objects.len() >= OBJECT_LIMIT {
            return Err(format!(
                "more than {OBJECT_LIMIT} objects, so it is refused"
            ));
        }
        if kind == "PU" {
            self.nr_pus += 1;
            if self.nr_pus > Machine::MAX_CPUS {
                return Err(format!("more than {} PUs, the limit", Machine::MAX_CPUS));
            }
            let number = os_index.ok_or("a PU without an os_index: its CPU number is missing")?;
            if number as usize >= Machine::MAX_CPUS {
                return Err(format!(
                    "PU {number}: CPU numbers below {} are accepted",
                    Machine::MAX_CPUS
                ));
            }
            for element in &self.depth {
                if let Element::Object(outer) = element
                    && let Some(outer) = self.document.objects.get_mut(*outer)
                {
                    outer.pus.push(number);
                }
            }
        }
        self.document.objects.push(Object {
            kind,
            os_index,
            cpuset: attributes.get("cpuset").and_then(|s| set(s)),
            pus: Vec::new(),
            attributes,
            infos: Attributes::new(),
        });
        Ok(Element::Object(self.document.objects.len() - 1))
    }

    fn info(&mut self, mut attributes: Attributes) {
        let (Some(name), Some(value)) = (attributes.remove("name"), attributes.remove("value"))
        else {
            return;
        };
        match self.depth.last() {
            Some(Element::Object(index)) => {
                if let Some(object) = self.document.objects.get_mut(*index) {
                    object.infos.insert(name.clone(), value.clone());
                    if object.kind == "Machine" {
                        self.document.infos.insert(name, value);
                    }
                }
            }
            Some(Element::Kind) => {
                if let Some(kind) = self.document.kinds.last_mut() {
                    kind.infos.insert(name, value);
                }
            }
            _ => {
                self.document.infos.entry(name).or_insert(value);
            }
        }
    }

    fn text(&mut self, text: &str) {
        let [.., Element::Distances(table, indexes), inner] = self.depth.as_mut_slice() else {
            return;
        };
        let numbers = text.split_whitespace().map_while(|n| n.parse::<u64>().ok());
        match inner {
            Element::Indexes => indexes.extend(numbers),
            Element::Values => table.values.extend(numbers),
            _ => {}
        }
    }

    fn close(&mut self) {
        match self.depth.pop() {
            Some(Element::Latencies(table, _)) => {
                // Several tables may exist, for nested groups; the widest is that of the nodes.
                let known = self.document.distances.as_ref();
                if known.is_none_or(|k| k.values.len() < table.values.len()) {
                    self.document.distances = Some(table);
                }
            }
            Some(Element::Distances(mut table, indexes)) => {
                table.nodes = indexes.iter().map(|i| u32::try_from(*i).ok()).collect();
                self.document.distances = Some(table);
            }
            _ => {}
        }
    }
}

/// A `cpuset` attribute; the infinite sets that hwloc can write are no sets of CPUs.
fn set(text: &str) -> Option<CpuMask> {
    CpuMask::parse_hex(text, Machine::MAX_CPUS).ok()
}
