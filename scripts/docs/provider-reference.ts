import type { EmbeddingFacts } from '../../src/formats/embeddings/format.ts';
import { catalog } from '../../src/formats/providers/catalog.ts';
import type { Provider } from '../../src/formats/providers/provider.ts';

/** The text of docs/providers.md, made from the catalog so that it cannot say anything else. */
export function providersReference(): string {
  return [
    '# Providers',
    '',
    '<!-- Generated from src/formats/providers by scripts/write-provider-docs.mjs; do not edit. -->',
    '',
    'Each provider is a `type:` under `providers:` in `culvert.yaml`. Without a file, the environment variable configures it.',
    'Culvert leaves out fields that a service refuses, and names them in the response header `x-culvert-dropped`. It',
    'translates fields that a service spells otherwise. It discovers models from the list of the service unless their column',
    'says otherwise. Bodies of the endpoints that a service also serves (`/v1/completions`, `/v1/moderations`, `/v1/rerank`)',
    'go to it as they came. One that serves completions serves `/v1/fim/completions` too, in which its answers are converted.',
    '',
    '| type | service | base URL | key | environment | speaks | also serves | models |',
    '|---|---|---|---|---|---|---|---|',
    ...catalog.map(addressRow),
    '',
    '## What a server speaks',
    '',
    'A request in a format that the provider speaks goes to it in that format, byte for byte. All other requests are converted',
    'into the first one. `speaks` above holds at the base URL of the table. A server elsewhere speaks the first format of its',
    'type. `dialects` says otherwise, for servers such as vLLM, LM Studio or another gateway that speak several:',
    '',
    '```yaml',
    'providers:',
    '  gpu: { type: vllm, base_url: http://gpu:8000/v1, dialects: [openai-chat, openai-responses, anthropic-messages] }',
    '```',
    '',
    'If a type has no default address, it speaks all formats of its row. A type that speaks `openai-chat` may have',
    '`openai-responses` and `anthropic-messages` in `dialects`, unless this table says that it has none. Responses go to',
    '`/responses` below the base URL, and Messages to `/messages`, with `anthropic-version`, or where this table says. The key',
    'goes in the header of the type. `anthropic` and `gemini` speak their own format only. Anything else is an error of the',
    'configuration. Give a model that cannot stream `capabilities: { streaming: false }`: Culvert then asks for whole answers',
    'and makes streams of them.',
    '',
    '| type | `openai-responses` | `anthropic-messages` |',
    '|---|---|---|',
    ...catalog.flatMap(carriedRow),
    '',
    'Some services that other gateways list are gone: GitHub retired GitHub Models on 30 July 2026, and Lambda ended its',
    'inference API in September 2025.',
    '',
    '## What each takes',
    '',
    'This table leaves out the fields that every type takes. For `anthropic`, `gemini`, `bedrock` and `cohere` the conversion',
    'decides field by field.',
    '',
    '| type | left out | translated | `n` > 1 in one call | `logprobs` | `seed` | JSON Schema | usage in streams |',
    '|---|---|---|---|---|---|---|---|',
    ...catalog.filter((provider) => provider.paths.chat !== null).map(quirksRow),
    '',
    "OpenAI's reasoning models (also on Azure) get `max_tokens` as `max_completion_tokens`. The o-series and GPT-5 get no",
    'sampling parameters, because they refuse them. Later ones get none where the request asks for reasoning.',
    '',
    '`reasoning` of OpenRouter and `thinking` of LiteLLM in chat completions become `reasoning_effort` where this table leaves',
    'them out and the model takes one: the same word, or the nearest one. Chat completions alone have `reasoning` and',
    '`include_reasoning` left out.',
    '',
    'Cohere gets its own fields `documents`, `citation_options`, `safety_mode`, `strict_tools`, `thinking` and `priority` from',
    'callers of chat completions, who write them next to the others. Its citations come as annotations where the document has',
    'a `url`. A text document of Messages with `citations: {"enabled": true}` becomes one of `documents`.',
    '',
    '## How each embeds',
    '',
    '`batch` of a target replaces the number of inputs of one call. In the column `dimensions`, "yes" means that the models',
    'which shorten their vectors get the field and others return 400; "asked" means that the service judges. Models that embed',
    'queries and documents differently get `query`, unless `input_type` says another word.',
    '',
    '| type | inputs a call | `dimensions` | tokens as input | told what inputs are for |',
    '|---|---|---|---|---|',
    ...catalog.flatMap(embeddingRow),
    '',
  ].join('\n');
}

function addressRow(provider: Provider): string {
  const { dialect, speaksToo = [], families = [] } = provider;
  const spoken = new Set([dialect, ...speaksToo, ...families.flatMap(({ dialects }) => dialects)]);
  const speaks = provider.paths.chat === null ? '–' : [...spoken].join(', ');
  return row([
    code(provider.id),
    provider.title,
    addressOf(provider),
    provider.local ? 'not needed' : authWords[provider.auth],
    provider.envKey === null ? '–' : code(provider.envKey),
    speaks,
    alsoServes(provider),
    provider.paths.models === null && provider.paths.originModels === undefined ? 'name them yourself' : 'discovered',
  ]);
}

/** Only where it is not as the text above the table says. */
function carriedRow({ id, dialect, paths }: Provider): string[] {
  if (dialect !== 'openai-chat' || paths.chat === null) return [];
  const { responses, messages } = paths;
  if (responses === '/responses' && messages === '/messages') return [];
  const messagesAt = typeof messages === 'string' ? messages : messages?.fromOrigin;
  return [row([code(id), ...[responses, messagesAt].map((path) => (path == null ? 'no' : code(path)))])];
}

function addressOf({ baseUrl, regional }: Provider): string {
  const address = regional?.base('REGION') ?? baseUrl;
  return address === null ? 'yours' : code(address);
}

function alsoServes({
  embeds,
  speech,
  transcription,
  realtime,
  images,
  videos,
  forwards = {},
  forwardsElsewhere = {},
}: Provider): string {
  return list([
    ...(embeds === undefined ? [] : ['embeddings']),
    ...(speech === undefined ? [] : ['speech']),
    ...(transcription === undefined ? [] : ['transcription']),
    ...(realtime === undefined ? [] : ['realtime']),
    ...(images === undefined ? [] : ['images']),
    ...(videos === undefined ? [] : ['videos']),
    ...Object.keys(forwards),
    ...Object.keys(forwardsElsewhere).map((name) => `${name} (at a base URL of yours)`),
  ]);
}

function embeddingRow({ id, embeds }: Provider): string[] {
  if (embeds === undefined) return [];
  const { format, batch, dimensions, takesTokens, inputType } = embeds;
  return [
    row([
      code(id),
      String(batch),
      typeof dimensions === 'string' ? (dimensions === 'asked' ? 'asked' : 'no') : 'yes',
      yes(takesTokens),
      inputTypeWords(inputType, format),
    ]),
  ];
}

function inputTypeWords(inputType: EmbeddingFacts['inputType'], format: EmbeddingFacts['format']): string {
  if (typeof inputType === 'object') return `as ${code(inputType.field)}`;
  return inputType === undefined && format === 'openai' ? 'as it came' : 'no';
}

const authWords = {
  bearer: '`Authorization: Bearer`',
  'x-api-key': '`x-api-key`',
  'api-key': '`api-key`',
  'x-goog-api-key': '`x-goog-api-key`',
  'xi-api-key': '`xi-api-key`',
  'x-key': '`x-key`',
  authorization: '`Authorization`',
  token: '`Authorization: Token`',
  key: '`Authorization: Key`',
  'ibm-iam': 'exchanged for tokens',
  none: 'none',
} as const satisfies Record<Provider['auth'], string>;

function quirksRow({ id, quirks }: Provider): string {
  return row([
    code(id),
    list([...quirks.omit, ...(quirks.omitInChat ?? [])].map(code)),
    list(Object.entries(quirks.rename).map(([from, to]) => `${code(from)} → ${code(to)}`)),
    yes(quirks.nativeN),
    yes(quirks.logprobs),
    yes(quirks.seed),
    quirks.jsonSchema ? 'yes' : 'as JSON mode',
    quirks.streamUsage ? 'asked for' : 'unasked',
  ]);
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function code(text: string): string {
  return `\`${text}\``;
}

function list(words: readonly string[]): string {
  return words.length === 0 ? '–' : words.join(', ');
}

function yes(is: boolean): string {
  return is ? 'yes' : 'no';
}
