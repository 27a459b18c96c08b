import { features } from './features.ts';
import { type CallerId, callerIds, type Delivery, deliveries, upstreamIds } from './formats.ts';
import { stopWords } from './stop-words.ts';
import { type Cell, type Verdict, verdictOf } from './verdicts.ts';

/**
 * The text of docs/dialects.md, made from the questions of test/contract/dialect-matrix.test.ts to a running gateway.
 */
export function dialectsReference(): string {
  return [
    '# Any format over any provider',
    '',
    '<!-- Generated from test/contract/dialect-matrix by scripts/write-dialects-docs.mjs; do not edit. -->',
    '',
    'Callers speak `openai-chat` (`POST /v1/chat/completions`), `anthropic-messages` (`POST /v1/messages`),',
    '`openai-responses` (`POST /v1/responses`) or `gemini` (`POST /v1beta/models/{model}:generateContent` and',
    '`:streamGenerateContent?alt=sse`). So do providers, and [providers.md](providers.md) says which speaks what. If both',
    'sides speak the same format, bytes pass unchanged, and the provider judges them; [conversion.md](conversion.md) names',
    'five faults that are mended. Culvert refuses only what it must read itself (the model, `stream`, the number of choices,',
    'limits of tokens, the shape of the conversation).',
    '',
    'A test asks a running gateway for each cell below: as a stream, whole, and whole over a target with `stream: false`. A',
    'cell that says nothing of them holds for all three. `yes` means that the whole request reached the provider, the whole',
    'answer reached the caller in the place that the format has for it, and nothing was left out. Every other cell has a note',
    'with the exact words:',
    '',
    '- **400**: Culvert refuses before it sends anything, because leaving the part out would change the answer. With several',
    '  targets it takes one that can do it.',
    '- **dropped**: the answer comes without it, and the response header `x-culvert-dropped` has these words.',
    '- **otherwise**: the answer comes, but not as over a provider of the same format.',
    '',
    ...callerIds.flatMap(callerSection),
    '## How answers end',
    '',
    '| the model | `openai-chat` `finish_reason` | `anthropic-messages` `stop_reason` | `openai-responses` `status` | `gemini` `finishReason` |',
    '|---|---|---|---|---|',
    ...endings.map(([title, reason]) => row([title, ...callerIds.map((caller) => code(stopWords[caller][reason]))])),
    '| failed, or was cut, within a stream | `data: {"error":…}`, and no `[DONE]` | `event: error`, and no `message_stop` | `response.failed` | `data: {"error":…}`, and no `finishReason` |',
    '',
    'A failure before the first content is an error answer. It is 400 with the words of a provider that found fault with the',
    'request, and 502 if the provider failed. If the provider is rate-limited it is 429 with `Retry-After` and',
    '`x-culvert-limited-by: upstream`, so that nobody takes it for a limit of the plan. A conversation that is too long returns',
    '`prompt is too long: …` in `anthropic-messages`, and `code: context_length_exceeded` in `openai-responses`.',
    '',
    'Usage counts as the format counts. `input_tokens` of `anthropic-messages` leaves cached tokens out, and the others include',
    'them. `candidatesTokenCount` of `gemini` leaves thoughts out. Chat streams have usage only with',
    '`stream_options.include_usage`.',
    '',
  ].join('\n');
}

const endings = [
  ['was done', 'stop'],
  ['reached the token limit', 'length'],
  ['came to a stop string', 'string'],
  ['calls tools', 'calls'],
  ['was held back by its provider', 'filter'],
] as const;

function callerSection(caller: CallerId): string[] {
  const notes: string[] = [];
  const rows = features.map(({ id, title, callers }) => {
    if (!callers.includes(caller)) return null;
    const cells = upstreamIds.map((upstream) => {
      const marks = deliveries.map((delivery) => mark({ caller, upstream, feature: id, delivery }, notes));
      return marks.every((one) => one === marks[0])
        ? marks[0]!
        : deliveries.map((delivery, at) => `${delivery}: ${marks[at]}`).join('; ');
    });
    return row([title, ...cells]);
  });
  const unasked = features.filter(({ callers }) => !callers.includes(caller)).map(({ title }) => title);
  return [
    `## Callers of \`${caller}\``,
    '',
    row(['over providers of', ...upstreamIds.map(code)]),
    `|${'---|'.repeat(upstreamIds.length + 1)}`,
    ...rows.filter((line) => line !== null),
    '',
    ...notes.map((note, at) => `${at + 1}. ${note}`),
    '',
    `This format cannot ask for: ${unasked.join(', ')}.`,
    '',
  ];
}

/** Content of a cell; a note is written once. */
function mark(cell: Cell & { delivery: Delivery }, notes: string[]): string {
  const verdict = verdictOf(cell);
  const note = noteOf(verdict);
  if (note === null) return 'yes';
  if (!notes.includes(note)) notes.push(note);
  return `${shortly[verdict.kind]} [${notes.indexOf(note) + 1}]`;
}

const shortly = { yes: 'yes', refused: '400', lost: 'dropped', differs: 'otherwise' } as const;

function noteOf(verdict: Verdict): string | null {
  switch (verdict.kind) {
    case 'yes':
      return null;
    case 'refused':
      return `400 \`${verdict.words}\``;
    case 'lost':
      return `\`x-culvert-dropped: ${verdict.words}\`: ${verdict.so}.`;
    case 'differs':
      return `Otherwise: ${verdict.so}.`;
  }
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function code(text: string): string {
  return `\`${text}\``;
}
