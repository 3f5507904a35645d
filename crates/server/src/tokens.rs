//! Which tokens a server accepts, and what each may do.

use std::{fs, path::Path};

use ddiht_wire::trust::{Token, TrustError};

/// A shorter token may be found by trying.
const SHORT: usize = 16;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Holds a shard and answers rounds.
    Worker,
    /// Looks on.
    Observer,
    /// Looks on, and may end the run.
    Operator,
}

impl Role {
    fn named(name: &str) -> Option<Self> {
        [Self::Worker, Self::Observer, Self::Operator].into_iter().find(|role| role.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Observer => "observer",
            Self::Operator => "operator",
        }
    }

    fn includes(self, other: Self) -> bool {
        self == other || (self == Self::Operator && other == Self::Observer)
    }
}

#[derive(Debug)]
struct Entry {
    token: Token,
    /// A token without a role has every right.
    role: Option<Role>,
}

/// What is known of a token that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Unknown,
    Insufficient,
    Sufficient,
}

/// The tokens of a server.
#[derive(Debug)]
pub(crate) struct TokenList(Vec<Entry>);

impl TokenList {
    /// Reads lines of `TOKEN` or `ROLE TOKEN`; empty lines and lines that begin with # do not count.
    pub(crate) fn read(file: &Path) -> Result<Self, TrustError> {
        let text = fs::read_to_string(file)
            .map_err(|source| TrustError::Read { file: file.into(), source })?;
        let list = Self::parse(&text, file)?;
        let short = list.0.iter().filter(|entry| entry.token.length() < SHORT).count();
        if short > 0 {
            let name = file.display();
            tracing::warn!("{short} tokens of {name} have fewer than {SHORT} characters");
        }
        Ok(list)
    }

    fn parse(text: &str, file: &Path) -> Result<Self, TrustError> {
        let mut entries = Vec::new();
        for (line, content) in (1..).zip(text.lines().map(str::trim)) {
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let (role, token) = match content.split_once(char::is_whitespace) {
                None => (None, content),
                Some((role, token)) => {
                    let bad_role = || TrustError::BadRole { file: file.into(), line };
                    (Some(Role::named(role).ok_or_else(bad_role)?), token.trim_start())
                }
            };
            let bad_token = || TrustError::BadToken { file: file.into(), line };
            entries.push(Entry { token: Token::parse(token).ok_or_else(bad_token)?, role });
        }
        if entries.is_empty() {
            return Err(TrustError::NoToken { file: file.into() });
        }
        Ok(Self(entries))
    }

    /// Whether the token that was shown may do what `needed` may.
    pub(crate) fn judge(&self, shown: &[u8], needed: Role) -> Standing {
        let mut standing = Standing::Unknown;
        // Every entry is compared: the time must not tell which one it was.
        for entry in &self.0 {
            let enough = entry.role.is_none_or(|role| role.includes(needed));
            if entry.token.is(shown) && standing != Standing::Sufficient {
                standing = if enough { Standing::Sufficient } else { Standing::Insufficient };
            }
        }
        standing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TokenList, TrustError> {
        TokenList::parse(text, Path::new("tokens"))
    }

    #[test]
    fn rights_go_by_role() {
        let text = "# ours\n\n all-rights \nworker ww\nobserver\too\noperator   pp\nworker two\nobserver two\n";
        let list = parse(text).unwrap();
        let may = |token: &str| {
            let roles = [Role::Worker, Role::Observer, Role::Operator];
            roles.map(|role| list.judge(token.as_bytes(), role) == Standing::Sufficient)
        };
        assert_eq!(may("all-rights"), [true, true, true]);
        assert_eq!(may("ww"), [true, false, false]);
        assert_eq!(may("oo"), [false, true, false]);
        assert_eq!(may("pp"), [false, true, true]);
        assert_eq!(may("two"), [true, true, false]);
        assert_eq!(list.judge(b"oo", Role::Operator), Standing::Insufficient);
        assert_eq!(list.judge(b"# ours", Role::Observer), Standing::Unknown);
        assert_eq!(list.judge(b"", Role::Observer), Standing::Unknown);
    }

    #[test]
    fn a_bad_line_is_named_but_not_quoted() {
        for (text, line) in
            [("fine\nchief sesame\n", 2), ("worker ses ame\n", 1), ("a\nb\n\u{e9}", 3)]
        {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line} of tokens")), "{error}");
            for secret in ["sesame", "ses", "chief", "\u{e9}"] {
                assert!(!error.contains(secret), "{error}");
            }
        }
        for nothing in ["", "\n \n# only a remark\n"] {
            assert!(matches!(parse(nothing), Err(TrustError::NoToken { .. })));
        }
    }
}
