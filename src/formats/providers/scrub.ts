import { markedSecrets } from '../../kernel/secret-spellings.ts';

/** Longest message of an upstream that reaches a caller, a log or the ledger. */
export const scrubbedCharsMax = 500;
/** Part of the upstream's text that is read: patterns never run over more. */
const scannedCharsMax = 4_000;

/** Facts of a `ProviderConnection` that no message may tell. */
export interface ScrubKnown {
  /** Whole secrets, as configured. */
  secrets: readonly string[];
  /** Hosts and host:port of the upstream. */
  hosts: readonly string[];
}

/**
 * An upstream's message as callers and logs may read it (S19): without credentials, bearer tokens, key-like strings,
 * URLs, addresses, paths of its machine and stack traces, on one line, at most `scrubbedCharsMax` characters. Two
 * checks find them: known values (`known`) and their looks.
 */
export function scrub(message: string, known: ScrubKnown): string {
  let text = boundedPiece(message);
  // Before anything is rewritten, or a half of a secret could survive its other half.
  text = withoutSecrets(text, known);
  text = withoutStack(text);
  for (const [pattern, replacement] of patterns) text = text.replace(pattern, replacement);
  text = withoutHosts(text, known);
  text = text.replace(wordLike, (word) => (looksRandom(word) ? '[redacted]' : word));
  text = text.replace(unprintable, ' ').replace(/ {2,}/g, ' ').trim();
  return text.length <= scrubbedCharsMax ? text : `${text.slice(0, scrubbedCharsMax - 1)}…`.toWellFormed();
}

/** A word of an upstream, such as an error code or the name of a parameter; null: a secret or an address may be in it. */
export function scrubbedWord(word: string, known: ScrubKnown): string | null {
  // A path of members (`input.io`) is no address: only its steps are looked at.
  const steps = word.replaceAll('.', ' ').replace(/ {2,}/g, ' ').trim();
  return withoutKnown(word, known) === word && scrub(steps, known) === steps ? word : null;
}

/** A text without the values of `known`, otherwise unchanged. */
export function withoutKnown(text: string, known: ScrubKnown): string {
  return withoutHosts(withoutSecrets(text, known), known).toWellFormed();
}

function withoutSecrets(text: string, { secrets }: ScrubKnown): string {
  return secrets.reduce((left, secret) => (secret.length >= 4 ? left.replaceAll(secret, '[redacted]') : left), text);
}

function withoutHosts(text: string, { hosts }: ScrubKnown): string {
  return hosts.reduce(
    (left, host) => (host === '' ? left : left.replaceAll(plainWord.test(host) ? asAddress(host) : host, '[address]')),
    text,
  );
}

/** Names such as `model` or `vllm`, which services in containers have, are words of messages too. */
const plainWord = /^[a-z]+$/;

/** Such a name where it is no other word: with a port, in a URL, or where a resolver complains of it. */
function asAddress(name: string): RegExp {
  return new RegExp(
    `\\b${name}:\\d{2,5}\\b|(?<=//|@|\\b(?:ENOTFOUND|EAI_AGAIN|host|hostname)\\b\\W{1,3})${name}\\b`,
    'gi',
  );
}

function boundedPiece(message: string): string {
  if (message.length <= scannedCharsMax) return message;
  // A secret cut in two by the bound would not be recognised: the last, broken word goes.
  const piece = message.slice(0, scannedCharsMax);
  const end = piece.search(/\S+$/);
  return end < 0 ? piece : piece.slice(0, end);
}

/** Frames of Node, Java, Python, Go and Rust; the message is before or, in Python, after them. */
const stackLine =
  /^\s*(at\s.{1,300}[(:]\S{0,300}:?\d*\)?|File ".{0,300}", line \d+.*|Traceback \(most recent call last\):|goroutine \d+ .*|\s*\d+: 0x[0-9a-f]+ .*|stack backtrace:)\s*$/;

function withoutStack(text: string): string {
  if (!text.includes('\n')) return text.replace(/\s+at\s[^\n]{0,200}:\d+:\d+\)?[^\n]*/, '');
  const lines = text.split('\n');
  const shown: string[] = [];
  let inPython = false;
  for (const line of lines) {
    if (line.startsWith('Traceback')) inPython = true;
    // Python prints the source line, indented, below each frame.
    if (stackLine.test(line) || (inPython && /^\s/.test(line))) continue;
    shown.push(line);
  }
  return shown.join(' ');
}

// Every quantifier is bounded or over one class followed by another, so each pattern is linear in a bounded text.
const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{1,40}-----[\s\S]{0,4000}?(-----END [A-Z ]{1,40}-----|$)/g, '[redacted]'],
  [/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>)\]}]+/gi, '[url]'],
  [/\b(bearer|basic|digest|negotiate)[ :]+[\w.~+/=*-]{4,}/gi, '$1 [redacted]'],
  // name = value, name: value, "name":"value", for whatever calls itself a secret.
  [
    /\b((?:proxy-)?authorization|(?:x-|x-goog-)?api[-_ ]?key|(?:subscription|private|secret|access)[-_ ]?key|password|passwd|secret|credential|set-cookie|cookie)(["']?\s{0,3}[=:]\s{0,3}["']?)(?!\[)[^\s"',;&}]{4,}/gi,
    '$1$2[redacted]',
  ],
  // Apart, and only when long: "unexpected token: x" is a message about JSON.
  [
    /\b((?:access|auth|id|refresh|session)?[-_]?token)(["']?\s{0,3}[=:]\s{0,3}["']?)(?!\[)[^\s"',;&}]{16,}/gi,
    '$1$2[redacted]',
  ],
  ...markedSecrets.map((form) => [form, '[redacted]'] as const),
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b/g, '[address]'],
  // IPv6 has two colons or more; `messages[12]` and `[503]` have none.
  [/\[(?=[0-9a-f]{0,4}:[0-9a-f]{0,4}:)[0-9a-f:.%]{2,45}\](?::\d{1,5})?/gi, '[address]'],
  [/\b(?:localhost|[a-z0-9_]+(?:[-.][a-z0-9_]+)+):\d{2,5}\b/gi, '[address]'],
  [/\blocalhost\b/gi, '[address]'],
  [
    /\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:internal|local|lan|corp|intra|private|cluster|svc|com|net|org|io|ai|dev|cloud|azure)\b(?::\d{1,5})?/gi,
    '[address]',
  ],
  [/(?<![\w/])\/(?:usr|home|root|opt|var|srv|app|etc|tmp|mnt|Users|workspace|build|src)\/[^\s"'),:;]+/g, '[path]'],
  [/\b[A-Za-z]:\\[^\s"'),;]+/g, '[path]'],
];

const wordLike = /[\w+/=-]{20,}/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters, bidi marks and line separators are what must go.
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g;

/**
 * Keys without a known prefix: words of 20 or more characters that hold a digit and change between lower case, upper
 * case and digit as often as chance does (names such as `DeepSeek-R1-Distill-Llama-70B` change half as often).
 */
function looksRandom(word: string): boolean {
  let changes = 0;
  let letters = 0;
  let digits = 0;
  let previous = 0;
  for (let i = 0; i < word.length; i++) {
    const kind = kindOf(word.charCodeAt(i));
    if (kind === 0) {
      previous = 0;
      continue;
    }
    if (kind === 1) digits++;
    else letters++;
    if (previous !== 0 && previous !== kind) changes++;
    previous = kind;
  }
  if (digits === 0) return letters >= 32 && changes / letters > 0.3;
  if (letters === 0) return digits >= 24;
  return changes / (letters + digits) > 0.27;
}

function kindOf(code: number): 0 | 1 | 2 | 3 {
  if (code >= 48 && code <= 57) return 1;
  if (code >= 97 && code <= 122) return 2;
  if (code >= 65 && code <= 90) return 3;
  return 0;
}
