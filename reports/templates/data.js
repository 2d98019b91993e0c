// The data of the page.

const parsed = (id) => JSON.parse(byId(id).textContent);

const index = parsed("index");
const cases = index.cases.map(([run, verdict, known, transport, revision, ms, id, title, areas, failed], position) => ({
  run, known, ms, id, areas, position,
  verdict: index.verdicts[verdict],
  severity: verdict,
  transport: index.transports[transport],
  revision: index.revisions[revision],
  title: index.texts[title],
  failed: failed.map((check) => index.texts[check]),
}));

const blocks = new Map();
let shared;

// The checks, frames, standard error and end of a case.
const detailsOf = (one) => {
  shared ||= parsed("rules");
  const number = Math.floor(one.position / index.block);
  if (!blocks.has(number)) blocks.set(number, parsed(`block-${number}`));
  const raw = blocks.get(number)[one.position % index.block];
  return {
    stderr: raw.stderr || "",
    end: raw.end,
    checks: raw.checks.map(([rule, verdict, observed, frames]) => ({
      rule: shared.rules[rule],
      verdict: index.verdicts[verdict],
      severity: verdict,
      observed: shared.texts[observed],
      frames,
    })),
    frames: raw.frames.map(([seq, at, byClient, server, http, headers, body, truncated]) => ({
      seq, at, byClient, server, http, headers, body, truncated,
    })),
  };
};

const escapedPart = (text) => {
  try {
    return encodeURIComponent(text).replace(/%2F/g, "/").replace(/%40/g, "@");
  } catch {
    return ""; // A lone surrogate.
  }
};
const linkTo = (one) => `#case/${escapedPart(one.id)}${index.runs.length > 1 ? `?run=${one.run}` : ""}`;
