/** Answers of providers with all that only their formats have. `made` is a value that a guard of personal data finds. */
export const made = 'made.up@example.net';
const text = `Write to ${made} today.`;
const page = 'https://a.example/';

export const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_700_000_000,
  status: 'completed',
  model: 'm',
  service_tier: 'priority',
  prompt_cache_retention: '24h',
  temperature: 1,
  output: [
    { id: 'rs_1', type: 'reasoning', status: 'completed', summary: [], encrypted_content: 'E' },
    message('msg_1', { phase: 'commentary' }, { type: 'output_text', text: 'I look.', annotations: [], logprobs: [] }),
    { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'bread' } },
    message(
      'msg_2',
      { phase: 'final_answer' },
      { type: 'output_text', text, annotations: [], logprobs: [] },
      {
        type: 'output_text',
        text: 'See Bread.',
        annotations: [{ type: 'url_citation', start_index: 4, end_index: 9, url: page, title: 'A' }],
        logprobs: [],
      },
    ),
    message('msg_3', {}, { type: 'refusal', refusal: 'No.' }),
    call('fc_1', { async: true }),
    message('msg_4', { phase: 'final_answer' }, { type: 'output_text', text: 'End.', annotations: [], logprobs: [] }),
  ],
  usage: {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0, audio_tokens: 2 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 2, audio_tokens: 1 },
    total_tokens: 15,
  },
};

function message(id: string, words: object, ...content: readonly object[]) {
  return { id, type: 'message', status: 'completed', role: 'assistant', ...words, content };
}

function call(id: string, words: object) {
  return { id, type: 'function_call', status: 'completed', call_id: 'call_1', name: 'f', arguments: '{}', ...words };
}

/** The same as a stream. */
export function responseEvents() {
  const items = response.output.flatMap((item, output_index) => [
    { type: 'response.output_item.added', output_index, item: { ...item, content: [] } },
    ...('content' in item ? item.content : []).flatMap((part, content_index) => {
      const at = { output_index, content_index };
      const { text: words, refusal } = part as { text?: string; refusal?: string };
      const type = refusal === undefined ? 'response.output_text.delta' : 'response.refusal.delta';
      return [
        { type: 'response.content_part.added', ...at, part },
        { type, ...at, delta: words ?? refusal },
        ...('annotations' in part ? (part.annotations as object[]) : []).map((annotation) => ({
          type: 'response.output_text.annotation.added',
          ...at,
          annotation,
        })),
      ];
    }),
    { type: 'response.output_item.done', output_index, item },
  ]);
  return [
    { type: 'response.created', response: { ...response, output: [], status: 'in_progress' } },
    ...items,
    { type: 'response.completed', response },
  ];
}

const ofSearch = { type: 'web_search_result_location', url: page, title: 'A', encrypted_index: 'X', cited_text: 'b' };
const ofPages = {
  type: 'page_location',
  cited_text: 'b',
  document_index: 0,
  document_title: 'D',
  start_page_number: 1,
  end_page_number: 2,
};
export const anthropicMessage = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  container: { id: 'container_1', expires_at: '2026-12-01T00:00:00Z' },
  context_management: { applied_edits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 2 }] },
  content: [
    { type: 'text', text, citations: [ofSearch, ofPages] },
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: {}, caller: { type: 'code_execution', tool_id: 's_1' } },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  stop_details: null,
  usage: {
    input_tokens: 10,
    cache_creation_input_tokens: 5,
    cache_read_input_tokens: 4,
    output_tokens: 5,
    cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 0 },
    service_tier: 'standard',
  },
};

/** The same as a stream. */
export function anthropicEvents() {
  const { content, container, context_management, stop_reason, stop_sequence, stop_details, usage } = anthropicMessage;
  const [{ citations }, tool] = content as [{ citations: object[] }, object];
  const delta = (index: number, one: object) => ({ type: 'content_block_delta', index, delta: one });
  return [
    { type: 'message_start', message: { ...anthropicMessage, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    delta(0, { type: 'text_delta', text }),
    ...citations.map((citation) => delta(0, { type: 'citations_delta', citation })),
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: tool },
    delta(1, { type: 'input_json_delta', partial_json: '{}' }),
    { type: 'content_block_stop', index: 1 },
    {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence, container, stop_details },
      usage,
      context_management,
    },
    { type: 'message_stop' },
  ];
}

export const completion = {
  id: 'c',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'm',
  service_tier: 'priority',
  system_fingerprint: 'fp_1',
  provider: 'Acme',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: text, refusal: null },
      logprobs: null,
      finish_reason: 'stop',
      native_finish_reason: 'end_turn',
    },
  ],
  usage: {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    prompt_tokens_details: { cached_tokens: 4, audio_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 2, accepted_prediction_tokens: 1 },
  },
};

/** Lists that Perplexity and xAI give with an answer, and with each chunk. */
export const lists = {
  citations: [page, `${page}?of=${made}`],
  search_results: [{ title: `A page of ${made}`, url: page, date: null }],
};

/** The same as a stream. */
export function completionChunks() {
  const { choices, usage, ...head } = { ...completion, object: 'chat.completion.chunk' };
  const piece = (delta: object, finish_reason: string | null, words: object = {}) => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason, ...words }],
  });
  return [
    piece({ role: 'assistant', content: '' }, null),
    piece({ content: text }, null),
    piece({}, 'stop', { native_finish_reason: 'end_turn' }),
    { ...head, choices: [], usage },
  ];
}

export const candidate = {
  candidates: [
    {
      content: {
        role: 'model',
        parts: [{ text }, { fileData: { fileUri: `${page}a.pdf`, mimeType: 'application/pdf' } }],
      },
      finishReason: 'RECITATION',
      index: 0,
      finishMessage: `Like ${made}.`,
      avgLogprobs: -0.2,
      safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'NEGLIGIBLE' }],
      urlContextMetadata: { urlMetadata: [{ retrievedUrl: page, urlRetrievalStatus: 'OK' }] },
    },
  ],
  promptFeedback: { safetyRatings: [] },
  usageMetadata: {
    promptTokenCount: 10,
    toolUsePromptTokenCount: 3,
    candidatesTokenCount: 5,
    totalTokenCount: 18,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 10 }],
    trafficType: 'ON_DEMAND',
  },
  modelVersion: 'm',
  responseId: 'r',
  createTime: '2026-11-30T00:00:00Z',
};
