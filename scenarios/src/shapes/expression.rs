//! The notation of types, fields and conditions.

use super::Condition;
use crate::model::Revision;

/// A range of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub(super) from: Option<f64>,
    pub(super) to: Option<f64>,
}

/// A type whose names are not resolved.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    /// A simple type or a definition.
    Name(String),
    Const(String),
    Integer(Range),
    Number(Range),
    Array {
        of: Box<Expression>,
        max: Option<usize>,
    },
    Map(Box<Expression>),
    Union(Vec<Expression>),
}

/// A type, and the revisions in which it is the type of its field.
#[derive(Debug, PartialEq)]
pub(super) struct Clause {
    pub(super) expression: Expression,
    pub(super) since: Option<Revision>,
    pub(super) until: Option<Revision>,
}

const UNBOUNDED: Range = Range { from: None, to: None };

/// Reads the types of a field: `object until 2025-11-25, result-meta since 2026-07-28`.
pub(super) fn clauses(text: &str) -> Result<Vec<Clause>, String> {
    let mut parser = Parser::new(text);
    let mut clauses = Vec::new();
    loop {
        let mut clause = Clause { expression: parser.union()?, since: None, until: None };
        while let Some(word) = parser.next_if(|token| matches!(token, "since" | "until")) {
            let revision = parser.next().and_then(|date| date.parse().ok());
            let revision = revision.ok_or_else(|| format!("`{text}`: `{word}` needs a revision"))?;
            *(if word == "since" { &mut clause.since } else { &mut clause.until }) = Some(revision);
        }
        clauses.push(clause);
        match parser.next() {
            None => return Ok(clauses),
            Some(",") => {}
            Some(other) => return Err(format!("`{text}`: unexpected `{other}`")),
        }
    }
}

/// Reads a case of a choice: `text-content when type=text`, or `elicit-form-params otherwise`.
pub(super) fn case(text: &str) -> Result<(&str, Vec<Condition>), String> {
    if let Some(name) = text.strip_suffix(" otherwise") {
        return Ok((name, vec![]));
    }
    let (name, conditions) = text.split_once(" when ").ok_or_else(|| format!("`{text}` has no condition"))?;
    let condition = |text: &str| match text.split_once('=') {
        Some((member, value)) => Condition { member: member.to_owned(), value: Some(value.to_owned()) },
        None => Condition { member: text.to_owned(), value: None },
    };
    Ok((name, conditions.split(" and ").map(condition).collect()))
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, rest: text }
    }

    fn peek(&self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let is_mark = |character: char| matches!(character, '(' | ')' | '|' | ',');
        let end = match rest.find(|character: char| is_mark(character) || character.is_whitespace()) {
            Some(0) => 1,
            Some(end) => end,
            None => rest.len(),
        };
        (end > 0).then(|| &rest[..end])
    }

    fn next(&mut self) -> Option<&'a str> {
        let token = self.peek()?;
        let rest = self.rest.trim_start();
        self.rest = &rest[token.len()..];
        Some(token)
    }

    fn next_if(&mut self, wanted: impl Fn(&str) -> bool) -> Option<&'a str> {
        let token = self.peek().filter(|token| wanted(token))?;
        self.next();
        Some(token)
    }

    fn expect(&mut self, wanted: &str) -> Result<(), String> {
        let found = self.next_if(|token| token == wanted);
        found.map(drop).ok_or_else(|| format!("`{}`: expected `{wanted}`", self.text))
    }

    fn union(&mut self) -> Result<Expression, String> {
        let mut alternatives = vec![self.single()?];
        while self.next_if(|token| token == "|").is_some() {
            alternatives.push(self.single()?);
        }
        Ok(if alternatives.len() == 1 { alternatives.remove(0) } else { Expression::Union(alternatives) })
    }

    fn single(&mut self) -> Result<Expression, String> {
        let token = self.next().ok_or_else(|| format!("`{}` ends too early", self.text))?;
        match token {
            "(" => {
                let inner = self.union()?;
                self.expect(")")?;
                Ok(inner)
            }
            "integer" => Ok(Expression::Integer(self.range()?)),
            "number" => Ok(Expression::Number(self.range()?)),
            "array" => {
                let max = self.range()?.to.map(|to| to as usize);
                self.expect("of")?;
                Ok(Expression::Array { of: Box::new(self.single()?), max })
            }
            "object" if self.next_if(|token| token == "of").is_some() => Ok(Expression::Map(Box::new(self.single()?))),
            ")" | "|" | "," => Err(format!("`{}`: unexpected `{token}`", self.text)),
            _ => Ok(match token.strip_prefix('=') {
                Some(value) => Expression::Const(value.to_owned()),
                None => Expression::Name(token.to_owned()),
            }),
        }
    }

    /// Reads `(0..)`, `(..100)` or `(0..1)`, if there is one.
    fn range(&mut self) -> Result<Range, String> {
        if !self.rest.starts_with('(') {
            return Ok(UNBOUNDED);
        }
        self.expect("(")?;
        let ends = self.next().and_then(|token| token.split_once(".."));
        let (from, to) = ends.ok_or_else(|| format!("`{}`: expected a range", self.text))?;
        let number = |text: &str| match text {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| format!("`{text}` is not a number")),
        };
        let range = Range { from: number(from)?, to: number(to)? };
        self.expect(")")?;
        Ok(range)
    }
}
