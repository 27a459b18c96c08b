import type { UpstreamId } from '../contract/dialect-matrix/formats.ts';

/**
 * Answers of upstreams to the words of a prompt or of a model. Written by hand from the vendors' published formats and
 * their users' reports, not recorded.
 */
export interface ContentCase {
  name: string;
  upstream: UpstreamId;
  /** Provider type, where its own error rules matter. */
  type?: string;
  /** Of a whole answer; null: this only happens in streams. */
  whole: { status: number; body: object } | null;
  /** Of a streamed one: its text with status 200, or the refusal of the whole. */
  stream: string | null;
  /** How callers get it: as an answer with status 200, as a refusal, or as text and then an error. */
  given: 'answer' | 'refusal' | 'text, then an error';
  /** The status of the refusal. */
  status?: number;
  /** In the answer's text or the error's message, for callers of other formats, too. */
  says?: string;
  /** Stands in those bytes, and the contract's own reader does not know it. */
  ownHolds?: string;
}

const sse = (...datas: readonly (object | string)[]): string =>
  datas.map((data) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`).join('');
const named = (...events: readonly { type: string }[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

// OpenAI's chat format.

const chatUsage = { prompt_tokens: 12, completion_tokens: 20, total_tokens: 32 };
const chatHead = { id: 'chatcmpl-1', created: 1764590000, model: 'm' };
const chunk = (delta: object, finish_reason: string | null = null) => ({
  ...chatHead,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason }],
});
const completion = (message: object, finish_reason: string) => ({
  ...chatHead,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }],
  usage: chatUsage,
});
const usageChunk = { ...chatHead, object: 'chat.completion.chunk', choices: [], usage: chatUsage };
const role = chunk({ role: 'assistant', content: '' });

const toolUseFailed = {
  message: "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
  type: 'invalid_request_error',
  code: 'tool_use_failed',
  failed_generation: '<function=look{"at": }',
};
const filteredByAzure = { code: 'ResponsibleAIPolicyViolation', message: 'The response was filtered.', type: null };
const unparsedCall = { code: 500, message: 'Failed to parse tool call arguments as JSON', type: 'server_error' };
const flagged = { code: 403, message: 'Your input was flagged', metadata: { reasons: ['violence'] } };

const chatCases: readonly Omit<ContentCase, 'upstream'>[] = [
  {
    name: 'filtered before it said anything',
    whole: { status: 200, body: completion({ content: '' }, 'content_filter') },
    stream: sse(role, chunk({}, 'content_filter'), usageChunk, '[DONE]'),
    given: 'answer',
  },
  {
    name: 'a refusal',
    whole: { status: 200, body: completion({ refusal: 'I cannot help with that.' }, 'stop') },
    stream: sse(role, chunk({ refusal: 'I cannot help with that.' }), chunk({}, 'stop'), usageChunk, '[DONE]'),
    given: 'answer',
  },
  {
    name: 'reasoning that ate the budget',
    whole: { status: 200, body: completion({ content: '' }, 'length') },
    stream: sse(role, chunk({}, 'length'), usageChunk, '[DONE]'),
    given: 'answer',
  },
  {
    name: 'a turn with nothing to add, counted',
    whole: { status: 200, body: completion({ content: '' }, 'stop') },
    stream: sse(role, chunk({}, 'stop'), usageChunk, '[DONE]'),
    given: 'answer',
  },
  ...(['content_filter', 'length'] as const).map((reason) => ({
    name: `nothing said, nothing counted, but a reason: ${reason}`,
    whole: { status: 200, body: { ...completion({ content: '' }, reason), usage: undefined } },
    stream: sse(role, chunk({}, reason), '[DONE]'),
    given: 'answer' as const,
  })),
  {
    name: 'an end without a reason, counted (Snowflake)',
    whole: null,
    stream: sse(role, chunk({ content: '4' }), chunk({ content: '' }), usageChunk, '[DONE]'),
    given: 'answer',
  },
  {
    name: 'a whole call without a reason, counted beside an empty word (OpenRouter)',
    type: 'openrouter',
    whole: null,
    stream: sse(
      role,
      chunk({ tool_calls: [{ index: 0, id: '0', type: 'function', function: { name: 'look', arguments: '{}' } }] }),
      { ...chunk({ role: 'assistant', content: '' }), usage: chatUsage },
      '[DONE]',
    ),
    given: 'answer',
  },
  {
    name: 'a reason, and an empty word with none behind it (OpenRouter)',
    type: 'openrouter',
    whole: null,
    stream: sse(
      role,
      chunk({ content: 'Here.' }),
      chunk({ content: '' }, 'stop'),
      { ...chunk({ content: '' }), usage: chatUsage },
      '[DONE]',
    ),
    given: 'answer',
  },
  {
    name: "Groq's broken tool call, before content",
    type: 'groq',
    whole: { status: 400, body: { error: toolUseFailed } },
    stream: `event: error\n${sse({ error: { ...toolUseFailed, status_code: 400 } })}`,
    given: 'refusal',
    status: 400,
    says: 'Failed to call a function',
  },
  {
    name: "Groq's broken tool call, after content",
    type: 'groq',
    whole: null,
    stream: `${sse(role, chunk({ content: 'Let me look.' }))}event: error\n${sse({ error: toolUseFailed })}`,
    given: 'text, then an error',
    status: 400,
    says: 'Failed to call a function',
  },
  {
    name: 'an error of a code that nobody knows yet, with a status of its own',
    whole: {
      status: 200,
      body: { error: { message: 'Not in this region of thought', code: 'new_word', status: 422 } },
    },
    stream: sse({ error: { message: 'Not in this region of thought', code: 'new_word', status: 422 } }),
    given: 'refusal',
    status: 400,
    says: 'Not in this region of thought',
  },
  {
    name: 'an error that tells its status by its type alone',
    whole: { status: 200, body: { error: { message: 'Too odd', type: 'invalid_request_error', code: 'new_word' } } },
    stream: sse({ error: { message: 'Too odd', type: 'invalid_request_error', code: 'new_word' } }),
    given: 'refusal',
    status: 400,
    says: 'Too odd',
  },
  {
    name: "Groq's code, its type lost on the way",
    whole: { status: 200, body: { error: { message: 'Failed to call a function.', code: 'tool_use_failed' } } },
    stream: sse({ error: { message: 'Failed to call a function.', code: 'tool_use_failed' } }),
    given: 'refusal',
    status: 400,
    says: 'Failed to call a function',
  },
  {
    name: "Azure's word for its filter",
    whole: { status: 200, body: { error: filteredByAzure } },
    stream: sse({ error: filteredByAzure }),
    given: 'refusal',
    status: 400,
    says: 'filtered',
  },
  {
    name: "OpenRouter's moderation",
    type: 'openrouter',
    whole: { status: 403, body: { error: flagged } },
    stream: sse({ error: flagged }),
    given: 'refusal',
    status: 403,
    says: 'flagged',
  },
  {
    name: 'the same, told in the choice that broke off',
    type: 'openrouter',
    whole: null,
    stream: sse(role, chunk({ content: 'Once' }), {
      ...chatHead,
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error', error: flagged }],
    }),
    given: 'text, then an error',
    status: 403,
    says: 'flagged',
  },
  {
    name: "Ollama's broken tool call",
    type: 'ollama',
    whole: {
      status: 500,
      body: { error: { message: 'error parsing tool call: raw=\'{"a":\', err=EOF', type: 'api_error' } },
    },
    stream: null,
    given: 'refusal',
    status: 400,
    says: 'error parsing tool call',
  },
  {
    name: "llama.cpp's broken tool call",
    type: 'llamacpp',
    whole: { status: 500, body: { error: unparsedCall } },
    stream: sse({ error: unparsedCall }),
    given: 'refusal',
    status: 400,
    says: 'Failed to parse tool call',
  },
];

// Anthropic's Messages.

const message = (content: readonly object[], stop_reason: string | null, output_tokens: number) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason,
  stop_sequence: null,
  usage: { input_tokens: 12, output_tokens },
});
const messageStart = { type: 'message_start', message: message([], null, 1) };
const messageEnd = (stop_reason: string, output_tokens: number) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens } },
  { type: 'message_stop' },
];
const blocked = {
  type: 'error',
  error: { type: 'invalid_request_error', message: 'Output blocked by content filtering policy' },
};
const messagesOf = (stop: string, outputTokens: number): Pick<ContentCase, 'whole' | 'stream' | 'given'> => ({
  whole: { status: 200, body: message([], stop, outputTokens) },
  stream: named(messageStart, ...messageEnd(stop, outputTokens)),
  given: 'answer',
});

const searched = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'tides' } };

const messagesCases: readonly Omit<ContentCase, 'upstream'>[] = [
  { name: 'a refusal', ...messagesOf('refusal', 4) },
  { name: 'thoughts that ate the budget', ...messagesOf('max_tokens', 64) },
  { name: 'a turn with nothing to add', ...messagesOf('end_turn', 3) },
  {
    name: "a search of Anthropic's own alone, nothing counted",
    whole: { status: 200, body: message([searched], 'end_turn', 0) },
    stream: named(
      messageStart,
      { type: 'content_block_start', index: 0, content_block: searched } as { type: string },
      { type: 'content_block_stop', index: 0 } as { type: string },
      ...messageEnd('end_turn', 0),
    ),
    given: 'answer',
    ownHolds: 'server_tool_use',
  },
  {
    name: 'filtered, before content',
    whole: { status: 400, body: blocked },
    stream: named(messageStart, blocked),
    given: 'refusal',
    status: 400,
    says: 'blocked by content filtering',
  },
  {
    name: 'filtered, after content',
    whole: null,
    stream: named(
      messageStart,
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as { type: string },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Once' } } as { type: string },
      blocked,
    ),
    given: 'text, then an error',
    status: 400,
    says: 'blocked by content filtering',
  },
];

// Google's Gemini.

const tokens = (output: { thoughtsTokenCount?: number; candidatesTokenCount?: number }) => ({
  usageMetadata: {
    promptTokenCount: 12,
    ...output,
    totalTokenCount: 12 + (output.thoughtsTokenCount ?? 0) + (output.candidatesTokenCount ?? 0),
  },
});
const gemini = (...bodies: readonly object[]): Pick<ContentCase, 'whole' | 'stream' | 'given'> => ({
  whole: { status: 200, body: { responseId: 'r1', modelVersion: 'm', ...bodies.at(-1) } },
  stream: sse(...bodies.map((body) => ({ responseId: 'r1', modelVersion: 'm', ...body }))),
  given: 'answer',
});
const candidate = (finishReason: string | undefined, parts: readonly object[] = [], more: object = {}) => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }), ...more }],
});
const invalidArgument = { code: 400, message: 'The document has no pages.', status: 'INVALID_ARGUMENT' };

const geminiCases: readonly Omit<ContentCase, 'upstream'>[] = [
  { name: 'a blocked prompt', ...gemini({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, ...tokens({}) }) },
  { name: 'a filtered answer', ...gemini({ ...candidate('SAFETY'), ...tokens({}) }) },
  { name: 'an answer that broke off for no reason', ...gemini({ ...candidate('OTHER'), ...tokens({}) }) },
  {
    name: 'a tool call that is no JSON',
    ...gemini({ ...candidate('MALFORMED_FUNCTION_CALL', [], { finishMessage: 'print(look())' }), ...tokens({}) }),
  },
  {
    name: 'thoughts that ate the budget',
    ...gemini({ ...candidate('MAX_TOKENS'), ...tokens({ thoughtsTokenCount: 28 }) }),
  },
  { name: 'a silent turn, counted', ...gemini({ ...candidate('STOP', [{ text: '' }]), ...tokens({}) }) },
  {
    name: 'code that Google ran, alone',
    ...gemini(candidate('STOP', [{ executableCode: { language: 'PYTHON', code: 'look()' } }])),
  },
  {
    name: 'a picture alone',
    ...gemini({
      ...candidate('STOP', [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }]),
      ...tokens({ candidatesTokenCount: 28 }),
    }),
  },
  {
    name: 'an error, before content',
    whole: { status: 400, body: { error: invalidArgument } },
    stream: sse({ error: invalidArgument }),
    given: 'refusal',
    status: 400,
    says: 'no pages',
  },
  {
    name: 'an error with a reason of its own, after content',
    whole: null,
    stream: sse(candidate(undefined, [{ text: 'Once' }]), {
      error: {
        ...invalidArgument,
        details: [
          { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'PAGELESS', domain: 'googleapis.com' },
        ],
      },
    }),
    given: 'text, then an error',
    status: 400,
    says: 'no pages',
  },
];

// OpenAI's Responses.

const response = (status: string, output: readonly object[], more: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1764590000,
  model: 'm',
  status,
  error: null,
  incomplete_details: null,
  output,
  parallel_tool_calls: true,
  tool_choice: 'auto',
  tools: [],
  usage: {
    input_tokens: 12,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 32,
  },
  ...more,
});
const numbered = (...events: readonly { type: string; [member: string]: unknown }[]): string =>
  named(...events.map((event, sequence_number) => ({ ...event, sequence_number })));
const created = { type: 'response.created', response: response('in_progress', [], { usage: null }) };
const incomplete = (reason: string, output: readonly object[]): Pick<ContentCase, 'whole' | 'stream' | 'given'> => {
  const body = response('incomplete', output, { incomplete_details: { reason } });
  const items = output.flatMap((item, output_index) => [
    { type: 'response.output_item.added', output_index, item },
    { type: 'response.output_item.done', output_index, item },
  ]);
  return {
    whole: { status: 200, body },
    stream: numbered(created, ...items, { type: 'response.incomplete', response: body }),
    given: 'answer',
  };
};
const said = (content: readonly object[]) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content,
});
const refused = said([{ type: 'refusal', refusal: 'I cannot help with that.' }]);
const invalidPrompt = {
  code: 'invalid_prompt',
  message: 'Your prompt was flagged as potentially violating our usage policy.',
};
const searchedItem = {
  type: 'web_search_call',
  id: 'ws_1',
  status: 'completed',
  action: { type: 'search', query: 'tides' },
};
const searchedOnly = response('completed', [searchedItem], { usage: null });
const failedWith = response('failed', [], { error: invalidPrompt, usage: null });

const responsesCases: readonly Omit<ContentCase, 'upstream'>[] = [
  { name: 'filtered before it said anything', ...incomplete('content_filter', []) },
  {
    name: 'reasoning that ate the budget',
    ...incomplete('max_output_tokens', [{ type: 'reasoning', id: 'rs_1', summary: [] }]),
  },
  {
    name: 'a refusal',
    whole: { status: 200, body: response('completed', [refused]) },
    stream: numbered(
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...refused, content: [] } },
      {
        type: 'response.refusal.delta',
        output_index: 0,
        content_index: 0,
        item_id: 'msg_1',
        delta: 'I cannot help with that.',
      },
      { type: 'response.output_item.done', output_index: 0, item: refused },
      { type: 'response.completed', response: response('completed', [refused]) },
    ),
    given: 'answer',
  },
  {
    name: "a search of OpenAI's own alone, nothing counted",
    whole: { status: 200, body: searchedOnly },
    stream: numbered(
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...searchedItem, status: 'in_progress' } },
      { type: 'response.output_item.done', output_index: 0, item: searchedItem },
      { type: 'response.completed', response: searchedOnly },
    ),
    given: 'answer',
    ownHolds: 'web_search_call',
  },
  {
    name: 'a prompt that was flagged, before content',
    whole: { status: 200, body: failedWith },
    stream: numbered(created, { type: 'response.failed', response: failedWith }),
    given: 'refusal',
    status: 400,
    says: 'usage policy',
  },
  {
    name: 'a prompt that was flagged, after content',
    whole: null,
    stream: numbered(
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...refused, content: [] } },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'msg_1', delta: 'Once' },
      { type: 'response.failed', response: failedWith },
    ),
    given: 'text, then an error',
    status: 400,
    says: 'usage policy',
  },
];

const of = (upstream: UpstreamId, cases: readonly Omit<ContentCase, 'upstream'>[]): ContentCase[] =>
  cases.map((one) => ({ ...one, upstream }));

export const contentCases: readonly ContentCase[] = [
  ...of('openai-chat', chatCases),
  ...of('anthropic-messages', messagesCases),
  ...of('gemini', geminiCases),
  ...of('openai-responses', responsesCases),
];
