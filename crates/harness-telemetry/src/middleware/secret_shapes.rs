//! Masking of what looks like a secret.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::content::Redactor;

/// What stands in the place of a secret.
const MASK: &str = "[redacted]";

/// Masks what has the shape of a secret: the default of [`ContentCapture`](super::ContentCapture). Secrets that
/// are known need none: see [`ContentCapture::secrets`](super::ContentCapture::secrets).
///
/// Shapes are: values of names that speak of keys, tokens, secrets and passwords; assignments of
/// environment variables, as in `.env` files; credentials of `Authorization` headers and of URLs; keys with the
/// prefixes of well-known services; JSON web tokens; private keys in PEM. It is a net with holes: content that
/// may hold secrets of other shapes should not be captured.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SecretShapes {}

impl SecretShapes {
    /// Shapes alone.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Redactor for SecretShapes {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for shape in &*SHAPES {
            if let Cow::Owned(masked) = shape.mask(&text) {
                text = Cow::Owned(masked);
            }
        }
        text
    }

    fn is_secret_name(&self, name: &str) -> bool {
        SECRET_NAME.is_match(name)
    }
}

/// A name that speaks of a secret. Singular, since `max_tokens` is none.
const NAME: &str = r"(?:(?:api|access|account|auth|encryption|master|private|secret|session|shared|signing|storage)[_-]?key|secret|token|password|passwd|passphrase|pwd|credential|authorization|cookie)";

/// A value in quotes of some kind, on one line; its end may have been cut off.
const QUOTED: &str = r#"(?:"(?:[^"\\\n]|\\.)+"?|\\"(?:[^"\\\n]|\\[^"\n])+(?:\\")?|'[^'\n]+'?)"#;

static SECRET_NAME: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r"(?i)(?:^|[^a-z]){NAME}s?$|(?i){NAME}$")));

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let all = [
        // Private keys, whole, also if their end was cut off.
        (r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)".to_owned(), 0),
        // Credentials in URLs.
        (r"(://)[^/\s@]*:[^/\s@]+@".to_owned(), 1),
        // `curl -u name:…`
        (r#"(\bcurl\b[^\n;|&]*\s(?:-u|--user)[\s=]*["']?[^\s:"']+:)[^\s"']+"#.to_owned(), 1),
        // `Authorization: Scheme …`, `Cookie: …`, whatever the scheme.
        (
            r#"(?i)(\b(?:proxy-)?authorization(?:\\?["'])?\s*[:=]\s*(?:\\?["'])?)(?:[a-z][A-Za-z0-9_-]*[ \t]+)?[^\s"'\\]+"#
                .to_owned(),
            1,
        ),
        (r#"(?i)(\b(?:set-)?cookie:\s*)[^\r\n"'\\]+"#.to_owned(), 1),
        // `Bearer …`
        (r"(?i)(\b(?:bearer|basic)\s+)[a-z0-9._~+/=-]{6,}".to_owned(), 1),
        // Keys of well-known services, by their prefixes.
        (
            r"\b(?:(?:sk|pk|rk)[-_][A-Za-z0-9_-]{12,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{12,}|xox[abeoprs]-[A-Za-z0-9_-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[A-Za-z0-9_-]{24,}|npm_[A-Za-z0-9_]{24,}|hf_[A-Za-z0-9_]{16,}|ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,}|whsec_[A-Za-z0-9_]{16,}|dop_v1_[A-Za-z0-9_]{16,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*)"
                .to_owned(),
            0,
        ),
        // `https://hooks.slack.com/services/…`
        (r"(hooks\.slack\.com/(?:services|workflows)/)[A-Za-z0-9_/-]+".to_owned(), 1),
        // `password = "two words"`, `"password": "two words"`, `\"password\": \"two words\"`
        (
            format!(
                r#"(?i)((?:[A-Za-z0-9_.-]*{NAME}(?:[_.-][A-Za-z0-9_.-]*)?)(?:\\?["'])?\s*(?:=>|:=|[:=])\s*){QUOTED}"#
            ),
            1,
        ),
        (
            format!(r"(?m)((?:^\s*(?:\d+[\s:|]+)?|[\s;&|(]|\bexport\s+)[A-Z][A-Z0-9_]*=){QUOTED}"),
            1,
        ),
        // `api_key = …`, `--token …`
        (
            format!(
                r#"(?i)((?:[A-Za-z0-9_.-]*{NAME}(?:[_.-][A-Za-z0-9_.-]*)?)(?:\\?["'])?(?:\s*(?:=>|:=|[:=])\s*|\s+)(?:\\?["'])?)[^\s"'\\,;&]{{4,}}"#
            ),
            1,
        ),
        // `NAME=value` at the beginning of a line or of a command, as in `.env`.
        (
            r#"(?m)((?:^\s*(?:\d+[\s:|]+)?|[\s;&|(]|\bexport\s+)[A-Z][A-Z0-9_]*=(?:\\?["'])?)[^\s"'\\]+"#.to_owned(),
            1,
        ),
    ];
    all.into_iter()
        .map(|(text, kept)| Shape {
            pattern: pattern(&text),
            kept,
        })
        .collect()
});

/// What a secret looks like.
struct Shape {
    pattern: Regex,
    /// The group that stays in front of the mask; 0: none.
    kept: usize,
}

impl Shape {
    fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.pattern.replace_all(text, |found: &Captures<'_>| {
            let kept = match self.kept {
                0 => "",
                group => found.get(group).map_or("", |group| group.as_str()),
            };
            format!("{kept}{MASK}")
        })
    }
}

#[expect(
    clippy::expect_used,
    reason = "the patterns are constants, which a test compiles"
)]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a sound pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_masked_and_the_rest_is_not() {
        let cases = [
            ("export TOKEN=canary && ls", true),
            ("DATABASE_URL=canary", true),
            ("# settings\nDEBUG=1\n  OTHER='canary'\n", true),
            ("     3\tSTRIPE=canary", true),
            ("a=1 SECRET_VALUE=canary make", true),
            ("curl -H 'Authorization: Bearer canary1234'", true),
            ("curl --token canary1", true),
            ("https://user:canary@example.com/x", true),
            ("postgres://:canary@db/x", true),
            (r#"{"api_key": "canary", "n": 1}"#, true),
            (r#"{\"password\":\"canary\"}"#, true),
            ("client_secret: canary", true),
            ("aws_secret_access_key = canary", true),
            (
                "-----BEGIN RSA PRIVATE KEY-----\ncanary\n-----END RSA PRIVATE KEY-----",
                true,
            ),
            ("-----BEGIN PRIVATE KEY-----\ncanary", true),
            ("the key sk-canarycanary1 is used", true),
            ("PASSWORD=\"correct horse canary\"", true),
            ("export DB_PASS='a canary b'", true),
            ("password: \"a \\\" canary\"", true),
            (r#"{"password": "a canary b", "n": 1}"#, true),
            (r#"{\"password\": \"a canary b\"}"#, true),
            ("DB=a;canary&canary|canary", true),
            ("password = \"x canary cut", true),
            ("secretKey: canary", true),
            ("AccountKey=canary==;EndpointSuffix=x", true),
            ("Authorization: token canary12345", true),
            ("\"Authorization\": \"ApiKey canary\"", true),
            ("Cookie: a=b; session=canary", true),
            ("set-cookie: id=canary; Path=/", true),
            ("curl -s -u me:canary https://x", true),
            ("https://hooks.slack.com/services/T0/B0/canary", true),
            (
                "-----BEGIN PGP PRIVATE KEY BLOCK-----\ncanary\n-----END PGP PRIVATE KEY BLOCK-----",
                true,
            ),
            ("a token of \"canary\"", false),
            ("if (x == \"canary\") { return }", false),
            ("cookies are canary", false),
            ("ghp_canarycanarycanary", true),
            ("eyJhbGciOiJ.eyJjYW5hcnk.canary", true),
            ("AKIACANARY0CANARY00", true),
            ("fn canary() { let x = 1; }", false),
            ("the canary sings", false),
            ("max_tokens of a canary", false),
            ("see https://example.com/canary?x=1", false),
            ("let tokens = canary.len();", false),
        ];
        for (text, secret) in cases {
            let masked = SecretShapes::new().redact(text);
            let found = masked.to_lowercase().contains("canary");
            assert_eq!(found, !secret, "{text:?} became {masked:?}");
        }
    }

    #[test]
    fn names_of_secrets() {
        let shapes = SecretShapes::new();
        for (name, secret) in [
            ("api_key", true),
            ("apiKey", true),
            ("token", true),
            ("authToken", true),
            ("password", true),
            ("secret_key", true),
            ("secretKey", true),
            ("SecretAccessKey", true),
            ("session-cookie", true),
            ("pwd", true),
            ("keys", false),
            ("tokens", true),
            ("max_tokens", true),
            ("path", false),
            ("command", false),
            ("tokenizer", false),
        ] {
            assert_eq!(shapes.is_secret_name(name), secret, "{name}");
        }
    }
}
