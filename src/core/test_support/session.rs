//! A session played at random: the compose step as a state machine.
//!
//! One disk, one history, and several players that compose the same requests: over an
//! `lstat` of every behaviour, with their memory taken away, with touches one by one. What
//! they remember and what their provider can do costs operations, so all must come to the
//! same message; and every message is held against the rules that no message may break.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::super::compose::{Message, Request, compose};
use super::super::config::Config;
use super::super::digest::{ContentDigests, HexDigest, digest};
use super::super::escape::CLOSING_TAG;
use super::super::operation::{Answer, EntryKind};
use super::super::path::PathStyle;
use super::super::scope::{ScopeKey, USER_GLOBAL};
use super::super::state::{Action as ChangeAction, Authority, Change, Memory, Source};
use super::super::text::JsText;
use super::action::{AMPLE, Action, DIRECTORIES, HOME, options};
use super::{Disk, EVERY_LSTAT, Files, Lstat};

/// One way of composing that must not show.
#[derive(Clone, Copy, Debug, Default)]
struct Habit {
    lstat: Lstat,
    /// Whether all that merely saves operations is forgotten before every composition.
    forgets: bool,
    /// Whether each touch of a batch is composed by itself.
    one_by_one: bool,
}

struct Player {
    habit: Habit,
    files: Files,
    memory: RefCell<Memory>,
}

impl Player {
    fn compose(&self, config: &Config, request: &Request) -> Option<Message> {
        if self.habit.forgets {
            self.forget();
        }
        let parts = if self.habit.one_by_one && request.touched.len() > 1 { 1 } else { request.touched.len().max(1) };
        let mut batches: Vec<Vec<String>> = request.touched.chunks(parts).map(<[String]>::to_vec).collect();
        if batches.is_empty() {
            batches.push(Vec::new());
        }
        let mut request = request.clone();
        let mut message = None;
        for touched in batches {
            request.touched = touched;
            message = self.files.run(compose(&self.files, config, &self.memory, request.clone())).unwrap();
            request.pending = message.as_ref().map(|message| message.source.clone());
        }
        message
    }

    /// Known versions are what a file that cannot be read is known by, so they go only while everything can be.
    fn forget(&self) {
        let memory = self.memory.take();
        let versions = if self.files.disk.borrow().is_sound() { HashMap::default() } else { memory.versions };
        self.memory.replace(Memory { excluded: memory.excluded, versions, ..Memory::default() });
    }
}

/// A session and everything around it.
pub struct Session {
    disk: Rc<RefCell<Disk>>,
    cwd: &'static str,
    odd_home: bool,
    config: Config,
    players: Vec<Player>,
    visible: Vec<Source>,
    /// The same, as the core takes it: one value for as long as nothing new is seen.
    authority: Authority,
    pending: Option<Source>,
    /// Every content that was ever written, by digest.
    contents: HashMap<HexDigest, JsText>,
    history: Vec<Action>,
}

impl Session {
    /// A session in a world that these bytes choose: options, place, and what is there already.
    #[must_use]
    pub fn new([first, place, present]: [u8; 3]) -> Self {
        let cwd = ["/w/p/a", "/w/p/a", "/w/p", "/w/p/a/s"][usize::from(place) % 4];
        let odd_home = place / 4 % 8 == 7;
        let mut disk = Disk::default();
        for directory in DIRECTORIES {
            disk.directory(directory);
        }
        for (bit, (path, text)) in [
            ("/w/p/.git/HEAD", "ref"),
            ("/h/AGENTS.md", "home"),
            ("/w/p/AGENTS.md", "root"),
            ("/w/p/a/AGENTS.md", "alpha"),
            ("/w/p/a/CLAUDE.md", "alpha\n"),
            ("/w/p/a/AGENTS.local.md", "overlay"),
            ("/w/p/a/s/AGENTS.md", "nested"),
        ]
        .into_iter()
        .enumerate()
        {
            if present >> bit & 1 == 1 {
                disk.file(path, text);
            }
        }
        let disk = Rc::new(RefCell::new(disk));
        let over_every_lstat = EVERY_LSTAT.map(|lstat| Habit { lstat, ..Habit::default() });
        let others = [Habit { forgets: true, ..Habit::default() }, Habit { one_by_one: true, ..Habit::default() }];
        let players = over_every_lstat.into_iter().chain(others).map(|habit| Player {
            habit,
            files: Files::over(Rc::clone(&disk), habit.lstat),
            memory: RefCell::default(),
        });
        let mut session = Self {
            cwd,
            odd_home,
            config: options(first, odd_home),
            players: players.collect(),
            disk,
            visible: Vec::new(),
            authority: Authority::default(),
            pending: None,
            contents: HashMap::new(),
            history: Vec::new(),
        };
        for text in ["home", "root", "alpha", "alpha\n", "overlay", "nested"] {
            session.learn(&text.into());
        }
        session
    }

    /// Play a whole session and settle it.
    pub fn play(world: [u8; 3], actions: &[[u8; 3]]) {
        let mut session = Self::new(world);
        for action in actions {
            session.act(Action::from(*action));
        }
        session.act(Action::Heal);
        session.act(Action::Replay);
    }

    /// Let one thing happen.
    ///
    /// # Panics
    ///
    /// When a composition breaks a rule.
    pub fn act(&mut self, action: Action) {
        self.history.push(action.clone());
        match action {
            Action::Write { path, text } => {
                self.learn(&text);
                self.disk.borrow_mut().file(&path, text);
            }
            Action::Remove { path } => self.disk.borrow_mut().remove(&path),
            Action::Directory { path } => self.disk.borrow_mut().directory(&path),
            Action::Link { path, target } => self.disk.borrow_mut().link(&path, &target),
            Action::Other { path } => self.disk.borrow_mut().other(&path),
            Action::Fail { path, fault } => self.disk.borrow_mut().fail(&path, fault),
            Action::ReportSize { path, size } => self.disk.borrow_mut().report_size(&path, size),
            Action::Heal => self.disk.borrow_mut().heal_all(),
            Action::Step => {
                self.step();
            }
            Action::Reject => self.pending = self.compose(Vec::new()).map(|message| message.source),
            Action::Claim => self.claim(),
            Action::Touch { paths } => self.pending = self.compose(paths).map(|message| message.source),
            Action::Compact { messages } => {
                let visible = self.visible.split_off(messages.min(self.visible.len()));
                self.see(visible);
            }
            Action::Resume { options: at } => {
                if at != 0 {
                    self.config = options(at, self.odd_home);
                }
                for player in &self.players {
                    player.memory.take();
                }
            }
            Action::Replay => self.replay(),
        }
    }

    fn see(&mut self, visible: Vec<Source>) {
        self.authority = visible.clone().into();
        self.visible = visible;
    }

    /// Enter a step; whether there was something to say.
    fn step(&mut self) -> bool {
        let message = self.compose(Vec::new());
        self.pending = None;
        let spoke = message.is_some();
        self.enter(message);
        spoke
    }

    fn enter(&mut self, message: Option<Message>) {
        if let Some(message) = message {
            let mut visible = std::mem::take(&mut self.visible);
            visible.push(message.source);
            self.see(visible);
        }
    }

    fn claim(&mut self) {
        let seen = self.authority.clone();
        let claimed: Vec<Source> = self.pending.take().into_iter().collect();
        self.authority = seen.with(claimed.clone());
        let message = self.compose(Vec::new());
        self.authority = seen;
        if !claimed.is_empty() {
            let mut visible = std::mem::take(&mut self.visible);
            visible.extend(claimed);
            self.see(visible);
        }
        self.enter(message);
    }

    /// Each step of an unchanged disk says something new, and soon there is nothing left.
    fn replay(&mut self) {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            self.ensure(steps < 64 || self.has_collision(), || "an unchanged disk is never silent".to_owned());
            if steps == 64 {
                return;
            }
        }
        self.check_truth();
    }

    fn compose(&self, touched: Vec<String>) -> Option<Message> {
        let request = Request {
            cwd: self.cwd.to_owned(),
            authority: self.authority.clone(),
            pending: self.pending.clone(),
            touched,
        };
        let complete = self.players[0].memory.borrow().excluded.as_ref().is_none_or(HashMap::is_empty);
        let mut messages = self.players.iter().map(|player| (player.habit, player.compose(&self.config, &request)));
        let (_, message) = messages.next().expect("there are players");
        for (habit, other) in messages {
            self.ensure(other == message, || format!("{habit:?} shows:\n{other:#?}\ninstead of\n{message:#?}"));
        }
        // With nothing left out, a session that begins anew has no more to go by than the disk.
        if complete && self.config.budget.limit() >= AMPLE && self.disk.borrow().is_sound() {
            let files = Files::over(Rc::clone(&self.disk), Lstat::Faithful);
            let fresh = files.run(compose(&files, &self.config, &RefCell::default(), request)).unwrap();
            // What has become a duplicate is now left out rather than removed: the same, said earlier.
            let said = |message: &Option<Message>| {
                let mut changes = message.as_ref().map(|message| message.source.changes.clone()).unwrap_or_default();
                changes.sort_by(|left, right| left.scope.cmp(&right.scope));
                changes
            };
            self.ensure(said(&fresh) == said(&message), || {
                format!("memory shows:\n{message:#?}\ninstead of\n{fresh:#?}")
            });
        }
        if let Some(message) = &message {
            self.check(message);
        }
        message
    }

    fn learn(&mut self, text: &JsText) {
        self.contents.insert(digest(text).full, text.clone());
    }

    /// What no message may break.
    fn check(&self, message: &Message) {
        self.ensure(!message.blocks.is_empty(), || "a message without text".to_owned());
        for block in &message.blocks {
            self.ensure(self.config.budget.admits(block.len()), || "a block exceeds the budget".to_owned());
            self.ensure(JsText::from_utf16(&block.to_utf16()) == *block, || "a block is no text".to_owned());
            let text = String::from_utf8_lossy(block.as_bytes()).into_owned();
            let framed = text.starts_with("<system-reminder>\n");
            self.ensure(text.matches(CLOSING_TAG).count() == usize::from(framed), || {
                "not one closing tag for each frame".to_owned()
            });
            self.ensure(!framed || text.ends_with(CLOSING_TAG), || "text behind the frame".to_owned());
            self.ensure(framed || message.source.baseline.is_some(), || "a batch without a frame".to_owned());
        }
        self.ensure(message.source.baseline.is_some() || !message.source.changes.is_empty(), || {
            "a batch that commits nothing is said".to_owned()
        });
        for change in &message.source.changes {
            self.ensure(self.is_represented(change, message), || format!("{change:?} is not represented"));
            if message.source.baseline.is_none() && !self.has_collision() {
                self.check_knowledge(change);
            }
        }
    }

    fn is_represented(&self, change: &Change, message: &Message) -> bool {
        let headings: &[(&str, usize)] = match change.action {
            ChangeAction::Set => &[("Instructions from: ", 1), ("Additional instructions from: ", 2)],
            ChangeAction::Replace => &[("Updated instructions from: ", 2)],
            ChangeAction::Remove => &[("Instructions removed: ", 0)],
        };
        let texts: Vec<String> =
            message.blocks.iter().map(|block| String::from_utf8_lossy(block.as_bytes()).into_owned()).collect();
        // A baseline supersedes its predecessor's files without a word of each.
        let supersedes = message.source.baseline.is_some() && self.authority.baseline().is_some();
        if supersedes && change.action == ChangeAction::Remove {
            return true;
        }
        // At least one byte of the content stands behind the paragraphs of its heading.
        let content = change.digest.as_ref().map(|digest| &self.contents[digest]).filter(|content| !content.is_empty());
        let first = content.and_then(|content| char::from_u32(u32::from(content.to_utf16()[0])));
        headings.iter().any(|(heading, paragraphs)| {
            let heading = format!("{heading}{}\n", change.path);
            texts.iter().any(|text| {
                text.match_indices(&heading).any(|(at, _)| {
                    text[at..].splitn(paragraphs + 1, "\n\n").nth(*paragraphs).is_some_and(|rest| match first {
                        Some(first) => rest.starts_with(first),
                        None => true,
                    })
                })
            })
        })
    }

    /// Unknown never removes, and an unknown sibling that the model sees keeps the whole directory as it is.
    fn check_knowledge(&self, change: &Change) {
        let memory = self.players[0].memory.borrow();
        let (directory, name) = change.scope.parts();
        let root = self.root();
        let candidate = self.config.candidate(&root, directory, name);
        let unknown = |path: &str| self.disk.borrow().probe(path, 0) == Answer::Unavailable;
        if memory.excludes(&change.scope) {
            return;
        }
        self.ensure(!unknown(&candidate.path), || format!("{change:?} was concluded from ignorance"));
        let visible = self.authority.visible();
        for sibling in self.group(&root, directory) {
            let locks = visible.standing(&sibling.0).is_some() && !memory.excludes(&sibling.0) && unknown(&sibling.1);
            self.ensure(!locks, || format!("{change:?} was said while {sibling:?} is unknown"));
        }
    }

    /// Once there is nothing left to say, the model has been told what the disk holds. Published behaviour:
    /// not so without a baseline in sight, when a chain that has come to hold nothing is not reconciled.
    fn check_truth(&self) {
        let is_ample = self.config.budget.limit() >= AMPLE;
        if !self.disk.borrow().is_sound() || !is_ample || self.has_collision() || self.authority.baseline().is_none() {
            return;
        }
        let visible = self.authority.visible();
        let memory = self.players[0].memory.borrow();
        let root = self.root();
        let mut directories: Vec<String> = visible.scopes().map(|scope| scope.parts().0.to_owned()).collect();
        let mut directory = self.cwd.to_owned();
        loop {
            directories.push(self.config.scope_directory(&root, &directory));
            if directory == root {
                break;
            }
            directory = PathStyle::Posix.dirname(&directory);
        }
        directories.push(USER_GLOBAL.to_owned());
        for directory in directories {
            let group = self.group(&root, &directory);
            let disk = self.disk.borrow();
            if group.iter().any(|(_, path)| disk.probe(path, 0) == Answer::Unavailable) {
                continue;
            }
            let mut earlier: Vec<HexDigest> = Vec::new();
            for (scope, path) in group.iter().filter(|(scope, _)| !memory.excludes(scope)) {
                let lies_within =
                    self.config.bounds(&root).is_none_or(|bounds| disk.admit(path, &bounds) == Answer::Admitted);
                let text = disk.text(path).filter(|_| lies_within);
                if text.is_some_and(|text| text.len() as f64 > self.config.max_source_bytes) {
                    continue;
                }
                let digests = text.map(digest).filter(|digests: &ContentDigests| !earlier.contains(&digests.trimmed));
                let told = visible.standing(scope).and_then(|change| change.digest.clone());
                earlier.extend(digests.iter().map(|digests| digests.trimmed.clone()));
                let truth = digests.map(|digests| digests.full);
                self.ensure(told == truth, || format!("{path} is {truth:?} and the model was told {told:?}"));
            }
        }
    }

    fn group(&self, root: &str, directory: &str) -> Vec<(ScopeKey, Rc<str>)> {
        let group =
            if directory == USER_GLOBAL { self.config.user_global_group() } else { self.config.group(root, directory) };
        group.candidates.into_iter().map(|candidate| (candidate.scope, candidate.path)).collect()
    }

    fn root(&self) -> String {
        let disk = self.disk.borrow();
        let mut directory = self.cwd.to_owned();
        loop {
            let is_marked = |marker: &String| {
                matches!(disk.probe(&PathStyle::Posix.join(&directory, marker), 0), Answer::Present(_))
            };
            if self.config.project_root_markers.iter().any(is_marked) {
                return directory;
            }
            let parent = PathStyle::Posix.dirname(&directory);
            if parent == directory {
                return self.cwd.to_owned();
            }
            directory = parent;
        }
    }

    /// Whether two scopes may mean one file, or one scope two: the published package then contradicts itself.
    fn has_collision(&self) -> bool {
        let disk = self.disk.borrow();
        let spelled = self.root().ends_with("/a")
            && self
                .visible
                .iter()
                .chain(&self.pending)
                .flat_map(|source| &source.changes)
                .any(|change| change.path.starts_with(USER_GLOBAL));
        let linked = matches!(disk.probe(HOME, 0), Answer::Present(entry) if entry.kind != EntryKind::Directory);
        self.odd_home || spelled || linked
    }

    fn ensure(&self, holds: bool, problem: impl FnOnce() -> String) {
        assert!(holds, "{}\nafter {:#?}\nwith {:#?}\nin {}", problem(), self.history, self.config, self.cwd);
    }
}
