//! Pages opened in a browser: they draw, zoom, filter and jump, and complain of nothing.

use std::path::{Path, PathBuf};

use fairlab_report::Page;
use serde_json::json;

use crate::browser::Browser;
use crate::runs::{audit, events, machine, page};

/// The page as a file, named after the test.
fn file(name: &str, page: &Page<'_>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html"));
    page.write(&mut std::fs::File::create(&path).unwrap())
        .unwrap();
    path
}

/// Pixels of the first timeline that are coloured: neither black, white nor grey.
const COLOURED: &str = "(() => { const c = document.querySelector('canvas.main'); \
    const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', \
    {willReadFrequently: true}); copy.drawImage(c, 0, 0); \
    const d = copy.getImageData(0, 0, c.width, c.height).data; let n = 0; \
    for (let i = 0; i < d.length; i += 4) { const m = Math.max(d[i], d[i + 1], d[i + 2]); \
    if (m - Math.min(d[i], d[i + 1], d[i + 2]) > 40) n++; } return n; })()";

const WINDOW: &str = "document.getElementById('window').textContent";

/// Waits until all is drawn anew after `act`, and nothing more is to be drawn.
fn redrawn(browser: &mut Browser, act: impl FnOnce(&mut Browser)) {
    const CALM: &str = "document.documentElement.dataset.calm === 'yes'";
    browser.wait(CALM);
    let drawn = browser
        .ask("document.documentElement.dataset.drawn")
        .to_string();
    act(browser);
    browser.wait(&format!(
        "{CALM} && document.documentElement.dataset.drawn !== {drawn}"
    ));
}

#[test]
fn a_page_draws_zooms_filters_and_jumps_without_complaint() {
    let Some(mut browser) = Browser::start("one") else {
        return;
    };
    let machine = machine(2, 4);
    let audit = audit(&machine, events(&machine, 20_000, 1));
    let path = file("one", &page("one run", &[("run", &machine, &audit)]));
    browser.open(&path, 1400, 900, "light");
    let all = browser.ask(COLOURED).as_u64().unwrap();
    assert!(all > 10_000, "{all} pixels are coloured");
    browser.picture("one-light");

    // Zooming: by keys, by the wheel, by a button, and back.
    let whole = browser.ask(WINDOW);
    browser.click("canvas.main");
    redrawn(&mut browser, |b| b.key("w"));
    let zoomed = browser.ask(WINDOW);
    assert_ne!(zoomed, whole);
    let at = browser.middle("canvas.main");
    redrawn(&mut browser, |b| {
        b.mouse(
            "mouseWheel",
            at,
            json!({"deltaX": 0, "deltaY": -400, "modifiers": 2}),
        );
    });
    assert_ne!(browser.ask(WINDOW), zoomed);
    redrawn(&mut browser, |b| b.click("[data-do=all]"));
    assert_eq!(browser.ask(WINDOW), whole);
    // Dragging with shift chooses a time.
    let at = browser.middle("canvas.main");
    redrawn(&mut browser, |b| {
        let held = json!({"button": "left", "clickCount": 1, "modifiers": 8, "buttons": 1});
        b.mouse("mousePressed", at, held.clone());
        b.mouse("mouseMoved", (at.0 + 30.0, at.1), held.clone());
        b.mouse("mouseMoved", (at.0 + 60.0, at.1), held.clone());
        b.mouse("mouseReleased", (at.0 + 60.0, at.1), held);
    });
    assert_ne!(browser.ask(WINDOW), whole);
    browser.picture("one-zoomed");
    // The way from the whole run to nanoseconds.
    for _ in 0..30 {
        browser.key("w");
    }
    browser.wait("/ ns from/.test(document.getElementById('window').textContent)");
    redrawn(&mut browser, |b| b.key("0"));

    // A stretch is chosen by keys, and told in words.
    browser.key("ArrowDown");
    browser.key("ArrowRight");
    browser.wait("/ on CPU \\d+; from .* for .* (ns|us|ms)/.test(document.getElementById('detail').textContent)");

    // Filters: one task of 128 leaves little colour; none leaves none.
    browser.click("#task-filter");
    redrawn(&mut browser, |b| b.type_text("1005"));
    let one = browser.ask(COLOURED).as_u64().unwrap();
    assert!(one > 0 && one < all / 4, "{one} of {all} pixels are left");
    browser.ask(
        "(() => { const f = document.getElementById('task-filter'); f.value = ''; \
                 f.dispatchEvent(new Event('input')); })()",
    );
    redrawn(&mut browser, |b| {
        b.click("#cpu-filter");
        b.type_text("0-1");
    });
    let rows = browser
        .ask("document.querySelector('.spacer').offsetHeight")
        .as_u64()
        .unwrap();
    assert!(rows < 100, "two rows are {rows} pixels high");
    browser.ask(
        "(() => { const f = document.getElementById('cpu-filter'); f.value = ''; \
                 f.dispatchEvent(new Event('input')); })()",
    );
    redrawn(&mut browser, |b| b.click(".kind[value=run]"));
    assert!(browser.ask(COLOURED).as_u64().unwrap() < all / 2);
    redrawn(&mut browser, |b| b.click(".kind[value=run]"));

    // A finding leads to its place.
    redrawn(&mut browser, |b| b.click("#findings .go"));
    let told = browser.ask("document.getElementById('detail').textContent");
    let first = browser.ask("document.querySelector('#findings .go').textContent");
    assert!(told.as_str().unwrap().starts_with(first.as_str().unwrap()));
    assert!(
        browser
            .ask("location.hash")
            .as_str()
            .unwrap()
            .starts_with("#run=0&from=")
    );
    browser.picture("one-finding");
    // Sorts can be left out.
    let shown =
        "[...document.querySelectorAll('#findings tbody tr')].filter((r) => !r.hidden).length";
    let before = browser.ask(shown).as_u64().unwrap();
    browser.click(".sort[value='long wait']");
    assert!(browser.ask(shown).as_u64().unwrap() < before);

    // What a plot looks like can be had as a file.
    browser.ask("URL.createObjectURL = (blob) => { window.saved = blob; return 'data:,'; }");
    browser.click("#delays .save button");
    let saved = browser.ask("window.saved.text()");
    assert!(saved.as_str().unwrap().starts_with("<svg xmlns="));
    assert!(saved.as_str().unwrap().contains("<polyline"));

    // The dark theme is another, and what is read aloud is there.
    let back = "getComputedStyle(document.body).backgroundColor";
    let light = browser.ask(back);
    redrawn(&mut browser, |b| b.scheme("dark"));
    assert_ne!(browser.ask(back), light);
    browser.picture("one-dark");
    let unnamed = "[...document.querySelectorAll('button, input, select, canvas.main, [role=img]')]\
                   .filter((e) => !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).length";
    assert_eq!(browser.ask(unnamed), 0);
    // Narrow windows do not scroll sideways.
    browser.size(400, 800);
    browser.wait("document.documentElement.scrollWidth <= 400");
    browser.picture("one-narrow");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn two_runs_stand_side_by_side_and_move_together() {
    let Some(mut browser) = Browser::start("two") else {
        return;
    };
    let machine = machine(1, 4);
    let audits = [1, 2].map(|seed| audit(&machine, events(&machine, 5_000, seed)));
    let runs = [
        ("before", &machine, &audits[0]),
        ("after", &machine, &audits[1]),
    ];
    let path = file("two", &page("two runs", &runs));
    browser.open(&path, 1600, 900, "light");
    let tops = browser.ask(
        "[...document.querySelectorAll('figure.timeline')].map((f) => f.getBoundingClientRect().top)",
    );
    assert_eq!(tops[0], tops[1]);
    browser.click("canvas.main");
    redrawn(&mut browser, |b| b.key("w"));
    // Both strips show the same part: their pictures differ only in the load.
    let link = browser.ask("document.getElementById('linked').checked");
    assert_eq!(link, json!(true));
    browser.picture("two");
    browser.size(600, 900);
    browser.wait(
        "(() => { const [a, b] = [...document.querySelectorAll('figure.timeline')]\
         .map((f) => f.getBoundingClientRect().top); return b > a; })()",
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_million_events_are_usable() {
    let Some(mut browser) = Browser::start("million") else {
        return;
    };
    let machine = machine(8, 4);
    let events = events(&machine, 1_000_000, 1);
    assert!(events.len() >= 1_000_000);
    let audit = audit(&machine, events);
    let path = file(
        "million",
        &page("a million events", &[("run", &machine, &audit)]),
    );
    // The page itself says when it painted. A busy machine gets three tries.
    let mut told = Vec::new();
    for _ in 0..3 {
        browser.open(&path, 1600, 1000, "light");
        let time = |browser: &mut Browser, name: &str| {
            let ask = format!("performance.getEntriesByName('{name}')[0].startTime");
            browser.ask(&ask).as_f64().unwrap()
        };
        let painted = time(&mut browser, "first-contentful-paint");
        let coarse = time(&mut browser, "fairlab-painted");
        let ready = time(&mut browser, "fairlab-ready");
        told.push((painted, coarse, ready));
        if painted.max(coarse) < 2_000.0 {
            break;
        }
    }
    eprintln!("first paint, coarse timeline, everything, in ms: {told:?}");
    assert!(
        told.iter()
            .any(|(painted, coarse, _)| painted.max(*coarse) < 2_000.0),
        "{told:?}"
    );
    assert!(browser.ask(COLOURED).as_u64().unwrap() > 50_000);
    browser.picture("million");
    browser.click("canvas.main");
    for key in ["w", "w", "w", "w", "d", "d"] {
        redrawn(&mut browser, |b| b.key(key));
    }
    browser.picture("million-zoomed");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
