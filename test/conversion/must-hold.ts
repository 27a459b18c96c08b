/*
 * Rules of every conversion (design §9), numbered in the order of its list: AC-01 … AC-24. A case is named for what it
 * shows; those of one number stand together here.
 */
const cases: readonly (readonly string[])[] = [
  ['thinking-before-text', 'thinking-hidden-unless-asked', 'thinking-sealed-when-display-is-omitted'],
  ['one-message-start'],
  ['block-change-loses-nothing', 'no-delta-lost-at-a-block-change'],
  ['no-empty-leading-text'],
  ['text-and-tool-calls'],
  ['parallel-tool-calls', 'interleaved-tool-calls'],
  ['stop-with-a-call-made', 'tool-calls-without-a-call'],
  ['dense-call-indexes', 'dense-balanced-blocks'],
  ['empty-tool-arguments'],
  ['invalid-json-arguments'],
  [
    'consecutive-tool-messages',
    'tool-results-of-one-turn',
    'results-without-calls-and-calls-without-results',
    'unpaired-calls',
  ],
  ['tool-results', 'call-without-result', 'result-without-call', 'tool-results-of-every-form'],
  ['text-beside-calls'],
  ['system-arrays', 'system-in-the-middle', 'system-alone', 'system-string'],
  ['cache-control'],
  [
    'reasoning-in-a-tool-loop',
    'foreign-thoughts',
    'thought-signatures',
    'signatures-that-were-lost',
    'thoughts-come-back',
  ],
  ['tool-schemas-whole', 'tools-of-anthropic', 'tools-of-anthropic-required', 'any-of-anthropics-tools'],
  ['input-estimate'],
  ['first-chunk-has-role'],
  ['stop-string', 'stop-array', 'stop-sequences', 'stop-sequence-that-matched'],
  ['max-tokens-default', 'max-tokens-of-the-model', 'max-tokens-clamped'],
  ['temperature-clamped'],
  ['crlf-and-split-characters', 'multi-line-data', 'crlf-multi-line-and-split-characters'],
  ['malformed-line'],
];

/** `AC-05 text-and-tool-calls`; the bare name for rules outside the list. */
export function titleOf(name: string): string {
  const index = cases.findIndex((names) => names.includes(name));
  return index < 0 ? name : `AC-${String(index + 1).padStart(2, '0')} ${name}`;
}
