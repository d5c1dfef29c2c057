//! A browser without a window, spoken to in the DevTools protocol over pipes.
//!
//! The browser reads requests from its file descriptor 3 and answers on 4, each message JSON that
//! ends in a zero byte. A shell moves the pipes there, so this needs no unsafe code and no crate.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine;
use serde_json::{Value, json};

/// How long an answer may take; the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Browser {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    last_id: u64,
    profile: PathBuf,
    /// What the page complained of: exceptions, and all that was written to the console.
    pub complaints: Vec<String>,
}

/// Chromium, where it is: `$FAIRLAB_CHROMIUM`, else in the path.
fn find() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("FAIRLAB_CHROMIUM") {
        return Some(path.into());
    }
    let folders = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file())
}

impl Browser {
    /// Starts one; `None`, and a word about it, where there is none. `name` tells those of tests
    /// apart that run at once.
    pub fn start(name: &str) -> Option<Self> {
        let Some(program) = find() else {
            eprintln!(
                "!!! SKIPPED: no Chromium in the path: install it, or set FAIRLAB_CHROMIUM to it"
            );
            return None;
        };
        let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("profile-{name}"));
        let _ = std::fs::remove_dir_all(&profile);
        let mut child = Command::new("sh")
            .arg("-c")
            .arg("exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null")
            .arg("sh")
            .arg(program)
            // The sandbox needs rights that containers do not give; the page is our own.
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .arg("--disable-dev-shm-usage")
            .arg("--remote-debugging-pipe")
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requests = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else {
                    break;
                };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            requests,
            answers,
            session: None,
            last_id: 0,
            profile,
            complaints: Vec::new(),
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Runtime.enable", "Log.enable", "Page.enable"] {
            browser.call(domain, json!({}));
        }
        Some(browser)
    }

    /// Calls a method of the protocol and gives its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut request = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&request).unwrap();
        bytes.push(0);
        self.requests.write_all(&bytes).unwrap();
        loop {
            let message = self.answers.recv_timeout(PATIENCE).unwrap();
            if message["id"] == json!(self.last_id) {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            let params = &message["params"];
            match message["method"].as_str() {
                Some("Runtime.exceptionThrown") => {
                    self.complaints.push(params["exceptionDetails"].to_string());
                }
                Some("Runtime.consoleAPICalled") => {
                    self.complaints.push(params["args"].to_string())
                }
                Some("Log.entryAdded") => self.complaints.push(params["entry"].to_string()),
                _ => {}
            }
        }
    }

    /// Opens a page in a window of this size, and waits until it says that it is ready.
    pub fn open(&mut self, page: &Path, width: u32, height: u32, scheme: &str) {
        self.size(width, height);
        self.scheme(scheme);
        let url = format!("file://{}", page.display());
        self.call("Page.navigate", json!({"url": url}));
        self.wait("document.documentElement?.dataset.state === 'ready'");
    }

    /// Resizes the window.
    pub fn size(&mut self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// `light` or `dark`.
    pub fn scheme(&mut self, scheme: &str) {
        let feature = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": feature}));
    }

    /// The value of an expression in the page.
    pub fn ask(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", params);
        let failure = &answer["exceptionDetails"];
        assert!(failure.is_null(), "{expression}: {failure}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn wait(&mut self, expression: &str) {
        let start = Instant::now();
        while self.ask(expression) != json!(true) {
            assert!(start.elapsed() < PATIENCE, "in vain: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses a key where the focus is.
    pub fn key(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        for (kind, text) in [("keyDown", text), ("keyUp", "")] {
            let event = json!({"type": kind, "key": key, "text": text});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Types into what has the focus.
    pub fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// An event of the mouse.
    pub fn mouse(&mut self, kind: &str, at: (f64, f64), more: Value) {
        let mut event = json!({"type": kind, "x": at.0, "y": at.1, "button": "none"});
        for (name, value) in more.as_object().unwrap() {
            event[name] = value.clone();
        }
        self.call("Input.dispatchMouseEvent", event);
    }

    /// The middle of an element, brought into view, in the window.
    pub fn middle(&mut self, selector: &str) -> (f64, f64) {
        let place = self.ask(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); \
             e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); \
             return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        ));
        (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
    }

    /// Clicks on an element.
    pub fn click(&mut self, selector: &str) {
        let at = self.middle(selector);
        let button = json!({"button": "left", "clickCount": 1});
        self.mouse("mousePressed", at, button.clone());
        self.mouse("mouseReleased", at, button);
    }

    /// Keeps a picture of the window among the build's files, for those who look.
    pub fn picture(&mut self, name: &str) {
        let picture = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(picture["data"].as_str().unwrap())
            .unwrap();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(folder.join(format!("{name}.png")), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
