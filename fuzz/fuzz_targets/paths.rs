//! Lexical paths under both platforms' rules, and the directories that discovery derives from them.
#![no_main]

use arbitrary::Arbitrary;
use dsh_agent_instructions::core::candidates::{directory_chain, touched_directories};
use dsh_agent_instructions::core::path::PathStyle;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Name {
    Dot,
    Up,
    Nothing,
    DotsAndMore,
    Short(u8),
    Any(String),
}

#[derive(Arbitrary, Debug)]
enum Start {
    Relative,
    Root,
    Drive(bool),
    DriveRelative(bool),
    Share(bool),
}

#[derive(Arbitrary, Debug)]
struct Path {
    start: Start,
    names: Vec<(Name, bool)>,
}

#[derive(Arbitrary, Debug)]
struct Input {
    windows: bool,
    base: Path,
    path: Path,
    /// Anything at all, which must not break anything.
    left: String,
    right: String,
}

impl Path {
    fn spell(&self, absolute: bool) -> String {
        let mut path = match self.start {
            Start::Drive(upper) => if upper { r"C:\" } else { "c:/" }.to_owned(),
            Start::Share(upper) => if upper { r"\\SRV\share\" } else { r"\\srv\share\" }.to_owned(),
            Start::DriveRelative(upper) if !absolute => if upper { "C:" } else { "d:" }.to_owned(),
            Start::Relative if !absolute => String::new(),
            _ => "/".to_owned(),
        };
        for (name, backslash) in self.names.iter().take(12) {
            match name {
                Name::Dot => path.push('.'),
                Name::Up => path.push_str(".."),
                Name::Nothing => {}
                Name::DotsAndMore => path.push_str("..a"),
                Name::Short(letter) => path.push(char::from(b'a' + letter % 4)),
                Name::Any(name) => path.push_str(name),
            }
            path.push(if *backslash { '\\' } else { '/' });
        }
        path
    }
}

/// POSIX normalization, said once more.
fn posix_names(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            _ => names.push(name),
        }
    }
    names
}

fn check_resolved(style: PathStyle, base: &str, path: &str) {
    for resolved in [style.resolve(base, path), style.join(base, path), style.normalize(base)] {
        assert!(style.is_absolute(&resolved), "{resolved:?}");
        assert_eq!(style.normalize(&resolved), resolved);
        assert_eq!(style.resolve(base, &resolved), resolved);
        let mut climbing = resolved;
        loop {
            let parent = style.dirname(&climbing);
            assert_eq!(style.normalize(&parent), parent, "parent of {climbing:?}");
            if parent == climbing {
                break;
            }
            assert!(parent.len() < climbing.len());
            climbing = parent;
        }
    }
    if style == PathStyle::Posix {
        let all = if path.starts_with('/') { path.to_owned() } else { format!("{base}/{path}") };
        assert_eq!(style.resolve(base, path), format!("/{}", posix_names(&all).join("/")));
        let (from, to) = (style.normalize(base), style.resolve(base, path));
        assert_eq!(style.resolve(&from, &style.relative(&from, &to)), to);
    }
}

fn check_touched(style: PathStyle, cwd: &str, touched: &str) {
    let mut above = cwd.to_owned();
    for directory in touched_directories(style, cwd, touched) {
        assert_eq!(style.dirname(&directory), above, "{directory:?} is reached through {above:?}");
        assert_ne!(directory, cwd);
        above = directory;
    }
    if above != cwd {
        let parent = style.dirname(&style.resolve(cwd, touched));
        assert!(style.relative(&above, &parent).is_empty(), "{touched:?} is in {parent:?}, not in {above:?}");
    }
}

fn check_chain(style: PathStyle, root: &str, cwd: &str) {
    let chain = directory_chain(style, root, cwd);
    assert_eq!(chain.last().map(String::as_str), Some(cwd));
    for pair in chain.windows(2) {
        assert_eq!(style.dirname(&pair[1]), pair[0]);
    }
    let top = &chain[0];
    assert!(top == root || style.dirname(top) == *top, "{chain:?} begins neither at {root:?} nor at the top");
    assert!(!chain[1..].iter().any(|directory| directory == root), "{chain:?} goes on above {root:?}");
}

fuzz_target!(|input: Input| {
    let style = if input.windows { PathStyle::Windows } else { PathStyle::Posix };
    let (base, path) = (input.base.spell(true), input.path.spell(false));
    if style.is_absolute(&base) {
        // A session's directory on Windows is on a drive or a share; a path without one is on the drive at hand.
        let base = if input.windows { style.resolve(r"C:\", &base) } else { style.normalize(&base) };
        check_resolved(style, &base, &path);
        check_touched(style, &base, &path);
        let other = style.resolve(&base, &path);
        check_chain(style, &base, &other);
        check_chain(style, &other, &base);
    }
    let (left, right) = (input.left.as_str(), input.right.as_str());
    let results = [
        style.resolve(left, right),
        style.join(left, right),
        style.relative(left, right),
        style.display(left, right),
        style.dirname(left),
    ];
    for result in results {
        assert!(result.len() <= 3 * (left.len() + right.len()) + 3);
    }
    assert!(!style.display(left, right).contains('\\') || style == PathStyle::Posix);
});
