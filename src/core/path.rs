//! Lexical paths, POSIX and Windows, as `node:path` computes them.
//!
//! Nothing here touches a file system: a path is text, and the rules are those
//! of the platform that the host runs on. Only what instruction discovery asks
//! for is implemented: `resolve` of one or two segments, `join`, `dirname`,
//! `relative`, `is_absolute` and the display form with forward slashes.
//!
//! Where it differs: `D:name` off the base's drive begins at that drive's root,
//! since a drive's own working directory is not known here; a device (`\\?\C:`)
//! counts as a server with a share; two leading slashes mean nothing on POSIX.

/// Which platform's rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStyle {
    /// `/` separates; a path is absolute when it begins with it.
    Posix,
    /// `\` and `/` separate; drives and UNC shares are roots; names compare without case.
    Windows,
}

/// What stands before the names of a path.
struct Root<'a> {
    volume: Volume<'a>,
    /// Whether the names begin at the top, and not at a working directory.
    absolute: bool,
    /// Where the names begin in the text.
    end: usize,
}

#[derive(Clone, Copy)]
enum Volume<'a> {
    /// None: all of POSIX, and `\name` or `name` on Windows.
    Unnamed,
    /// `C:`
    Drive(&'a str),
    /// `\\server\share`, which is absolute whatever follows.
    Share { server: &'a str, share: &'a str },
}

impl PathStyle {
    /// The separator that results are written with.
    #[must_use]
    pub const fn separator(self) -> char {
        match self {
            Self::Posix => '/',
            Self::Windows => '\\',
        }
    }

    /// Whether `path` begins at a root.
    #[must_use]
    pub fn is_absolute(self, path: &str) -> bool {
        self.root(path).absolute
    }

    /// `path.resolve(base, path)` for an absolute `base`: a normalized absolute path.
    #[must_use]
    pub fn resolve(self, base: &str, path: &str) -> String {
        let (from, to) = (self.root(base), self.root(path));
        let continues = to.continues(&from);
        let mut names = Vec::new();
        if continues {
            self.fold_names(&base[from.end..], &mut names, 0);
        }
        self.fold_names(&path[to.end..], &mut names, 0);
        // `\name` stays on the base's volume; `c:name` spells the drive anew.
        let volume = if to.volume.is_unnamed() { from.volume } else { to.volume };
        self.assemble(volume, from.absolute || !continues, &names)
    }

    /// `path.resolve(path)` of an already absolute path: normalized, without a trailing separator.
    #[must_use]
    pub fn normalize(self, path: &str) -> String {
        self.resolve(path, "")
    }

    /// `path.join(directory, name)` for an absolute directory; `name` never names a root of its own.
    #[must_use]
    pub fn join(self, directory: &str, name: &str) -> String {
        // The usual case: a plain name below a directory that needs no folding.
        let is_plain = !matches!(name, "" | "." | "..") && !name.contains('/');
        if self == Self::Posix
            && is_plain
            && directory.starts_with('/')
            && !directory.contains("//")
            && !directory.contains("/.")
        {
            return [directory.strip_suffix('/').unwrap_or(directory), "/", name].concat();
        }
        let root = self.root(directory);
        let mut names = Vec::new();
        self.fold_names(&directory[root.end..], &mut names, 0);
        self.fold_names(name, &mut names, 0);
        self.assemble(root.volume, root.absolute, &names)
    }

    /// The containing directory, or the path itself at a root.
    #[must_use]
    pub fn dirname(self, path: &str) -> String {
        let root = self.root(path).end;
        let rest = path[root..].trim_end_matches(|character| self.is_separator(character));
        match rest.rfind(|character| self.is_separator(character)) {
            Some(at) => path[..root + at].to_owned(),
            None if root == 0 => ".".to_owned(),
            None => path[..root].to_owned(),
        }
    }

    /// `path.relative(from, to)` for two absolute paths.
    #[must_use]
    pub fn relative(self, from: &str, to: &str) -> String {
        let from_names = self.components(from);
        let to_names = self.components(to);
        let shared = from_names.iter().zip(&to_names).take_while(|(left, right)| self.same(left, right)).count();
        if shared == 0 && !self.root(to).volume.is_unnamed() {
            return self.normalize(to);
        }
        let mut parts = vec![".."; from_names.len() - shared];
        parts.extend(&to_names[shared..]);
        parts.join(match self {
            Self::Posix => "/",
            Self::Windows => "\\",
        })
    }

    /// `path` from `root`, with forward slashes: the form a model reads.
    #[must_use]
    pub fn display(self, root: &str, path: &str) -> String {
        let relative = self.relative(root, path);
        match self {
            Self::Posix => relative,
            Self::Windows => relative.replace('\\', "/"),
        }
    }

    fn is_separator(self, character: char) -> bool {
        character == '/' || (self == Self::Windows && character == '\\')
    }

    fn same(self, left: &str, right: &str) -> bool {
        left == right || (self == Self::Windows && left.to_lowercase() == right.to_lowercase())
    }

    fn root(self, path: &str) -> Root<'_> {
        let unnamed = |absolute: bool| Root { volume: Volume::Unnamed, absolute, end: usize::from(absolute) };
        if self == Self::Posix {
            return unnamed(path.starts_with('/'));
        }
        if let Some(share) = self.share(path) {
            return share;
        }
        match path.as_bytes() {
            [b'a'..=b'z' | b'A'..=b'Z', b':', rest @ ..] => {
                let absolute = matches!(rest, [b'/' | b'\\', ..]);
                Root { volume: Volume::Drive(&path[..2]), absolute, end: 2 + usize::from(absolute) }
            }
            _ => unnamed(path.starts_with(['/', '\\'])),
        }
    }

    /// Two leading separators, a server, any separators, a share, and the separator behind it.
    fn share(self, path: &str) -> Option<Root<'_>> {
        let separators = ['/', '\\'];
        let names = path.strip_prefix(separators)?.strip_prefix(separators)?;
        let (server, behind) = names.split_at(names.find(separators)?);
        let behind = behind.trim_start_matches(separators);
        let (share, rest) = behind.split_at(behind.find(separators).unwrap_or(behind.len()));
        let end = path.len() - rest.len() + usize::from(!rest.is_empty());
        let found = !server.is_empty() && !share.is_empty();
        found.then_some(Root { volume: Volume::Share { server, share }, absolute: true, end })
    }

    /// The names of an absolute path, those of its volume in front.
    fn components(self, path: &str) -> Vec<&str> {
        let root = self.root(path);
        let mut names = match root.volume {
            Volume::Unnamed => vec![],
            Volume::Drive(drive) => vec![drive],
            Volume::Share { server, share } => vec![server, share],
        };
        let floor = names.len();
        self.fold_names(&path[root.end..], &mut names, floor);
        names
    }

    /// Append the names of `rest`, each `..` taking back one down to `floor`.
    fn fold_names<'a>(self, rest: &'a str, names: &mut Vec<&'a str>, floor: usize) {
        for name in rest.split(|character| self.is_separator(character)) {
            match name {
                "" | "." => {}
                ".." => names.truncate(names.len().saturating_sub(1).max(floor)),
                _ => names.push(name),
            }
        }
    }

    fn assemble(self, volume: Volume<'_>, absolute: bool, names: &[&str]) -> String {
        let separator = self.separator();
        let mut path = match volume {
            Volume::Unnamed => String::new(),
            Volume::Drive(drive) => drive.to_owned(),
            Volume::Share { server, share } => format!(r"\\{server}\{share}"),
        };
        if absolute {
            path.push(separator);
        }
        for (index, name) in names.iter().enumerate() {
            if index > 0 {
                path.push(separator);
            }
            path.push_str(name);
        }
        path
    }
}

impl Root<'_> {
    /// Whether the names go on from those of `base`.
    fn continues(&self, base: &Root<'_>) -> bool {
        match (self.volume, base.volume) {
            _ if self.absolute => false,
            (Volume::Drive(drive), Volume::Drive(other)) => drive.eq_ignore_ascii_case(other),
            (volume, _) => volume.is_unnamed(),
        }
    }
}

impl Volume<'_> {
    fn is_unnamed(self) -> bool {
        matches!(self, Self::Unnamed)
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
