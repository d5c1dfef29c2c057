//! What a page says without a browser.

use crate::runs::{audit, events, machine, page, written};

#[test]
fn the_same_run_gives_the_same_bytes() {
    let machine = machine(2, 2);
    let make = || {
        let audit = audit(&machine, events(&machine, 3_000, 1));
        written(&page("a page", &[("run", &machine, &audit)]))
    };
    assert_eq!(make(), make());
}

#[test]
fn names_of_tasks_are_text_and_never_markup() {
    let machine = machine(1, 2);
    let audit = audit(&machine, events(&machine, 500, 2));
    let text = written(&page("<i>&", &[("<run>", &machine, &audit)]));
    assert!(!text.contains("</script><b>"));
    assert!(!text.contains("<i>&"));
    // One end for each begin: the description, the script, the lanes.
    assert_eq!(
        text.matches("</script>").count(),
        text.matches("<script").count()
    );
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let machine = machine(1, 1);
    let audit = audit(&machine, events(&machine, 100, 3));
    let text = written(&page("page", &[("run", &machine, &audit)]));
    for word in [" src=", "@import", "url(", "http-equiv"] {
        assert!(!text.contains(word), "{word}");
    }
    // The only addresses are names of XML.
    assert_eq!(
        text.matches("http").count(),
        text.matches("http://www.w3.org/2000/svg").count()
    );
}

#[test]
fn findings_and_tables_are_there_without_scripts() {
    let machine = machine(2, 4);
    let audit = audit(&machine, events(&machine, 5_000, 4));
    let text = written(&page("page", &[("run", &machine, &audit)]));
    let body = &text[..text.find("<script").unwrap()];
    assert!(body.contains("Where tasks were placed"));
    assert!(body.contains("data-from="));
    let longest = audit.delays.all.delay().max().unwrap();
    assert!(body.contains(&format!("{:.1}", longest as f64 / 1e3)));
}

#[test]
fn an_empty_run_makes_a_page_too() {
    let machine = machine(1, 1);
    let audit = audit(&machine, []);
    let text = written(&page("empty", &[("run", &machine, &audit)]));
    assert!(text.ends_with("</html>\n"));
}
