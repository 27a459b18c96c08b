import type { WholeRequest } from './whole-requests.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const said = [{ role: 'user', content: 'hi' }];
const tool = { name: 'f', description: 'd', parameters: { type: 'object' } };
const filter = {
  must: [
    { key: 't', match: { value: 'x' } },
    { key: 'n', range: { gte: 1 } },
    { key: 'g', geo_radius: { center: { lon: 1, lat: 2 }, radius: 5 } },
    { nested: { key: 'a', filter: { must: [{ key: 'k', match: { any: [1] } }] } } },
  ],
};

/**
 * Requests of the endpoints that `wholeRequests` leaves out, as short as they are whole. The models are named for what they do;
 * `chat` and `claude` converse. The headers are those of the AI SDK.
 */
export const otherRequests: readonly (WholeRequest & { headers?: Record<string, string> })[] = [
  ...['chat', 'claude'].map((model) => ({
    path: '/v1/messages/count_tokens',
    body: {
      model,
      system: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'x' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] },
      ],
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
    },
  })),
  {
    path: '/v1/responses/input_tokens',
    body: {
      model: 'chat',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }],
      tools: [{ type: 'function', ...tool }],
    },
  },
  {
    path: '/v1beta/models/chat:countTokens',
    body: {
      generateContentRequest: {
        model: 'models/chat',
        contents: [{ parts: [{ text: 'x' }] }],
        systemInstruction: { parts: [{ text: 'x' }] },
        tools: [{ functionDeclarations: [tool] }],
      },
    },
  },
  {
    path: '/v1/messages',
    body: {
      model: 'guarded',
      max_tokens: 99,
      messages: [
        { role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'https://x.invalid/a.png' } }] },
        { role: 'assistant', content: [{ type: 'mcp_tool_use', id: 'm', name: 'f', server_name: 's', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'mcp_tool_result', tool_use_id: 'm', content: [{ type: 'json', value: { a: 1 } }] }],
        },
      ],
    },
  },
  {
    path: '/v1beta/models/image:predict',
    body: {
      instances: [{ prompt: 'x' }],
      parameters: {
        sampleCount: 1,
        aspectRatio: '1:1',
        sampleImageSize: '1K',
        outputOptions: { mimeType: 'image/png' },
      },
    },
  },
  {
    path: '/v1beta/models/image:generateContent',
    body: {
      contents: [{ parts: [{ text: 'x' }, { inlineData: { data: png, mimeType: 'image/png' } }] }],
      generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '1:1', imageSize: '1K' } },
    },
  },
  {
    path: '/v1/images/generations',
    body: { model: 'image', prompt: 'x', n: 1, size: '1024x1024', quality: 'low', output_format: 'png', user: 'u' },
  },
  {
    path: '/v4/ai/transcription-model',
    headers: { 'ai-model-id': 'transcription', 'ai-transcription-model-specification-version': '3' },
    body: {
      audio: 'UklGRiQAAABXQVZF',
      mediaType: 'audio/wav',
      providerOptions: { openai: { language: 'de', timestampGranularities: ['word'] } },
    },
  },
  { path: '/v1/audio/speech', body: { model: 'speech', input: 'x', voice: { id: 'alloy' }, stream_format: 'sse' } },
  { path: '/v1/moderations', body: { model: 'moderation', input: 'x' } },
  { path: '/v2/rerank', body: { model: 'rerank', query: 'x', documents: ['a', 'b'], top_n: 1 } },
  { path: '/v2/embed', body: { model: 'embed', texts: ['a'], input_type: 'search_query', embedding_types: ['float'] } },
  { path: '/api/generate', body: { model: 'chat', prompt: 'x', options: { stop: ['x'] }, think: true, stream: false } },
  {
    path: '/v1/chat',
    body: {
      model: 'chat',
      message: 'x',
      preamble: 's',
      chat_history: [{ role: 'CHATBOT', message: '', tool_calls: [{ name: 'f', parameters: { a: 1 } }] }],
      tools: [{ name: 'f', parameter_definitions: { a: { type: 'List[int]', description: 'd', required: true } } }],
      tool_results: [{ call: { name: 'f', parameters: { a: 1 } }, outputs: [{ a: 1 }] }],
      documents: [{ id: 'd', text: 'x', _excludes: ['text'] }],
      citation_quality: 'off',
    },
  },
  { path: '/v1/generate', body: { model: 'chat', prompt: 'x', num_generations: 1 } },
  {
    path: '/v2/chat',
    body: {
      model: 'chat',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
      documents: [{ id: 'x', data: { a: 'b' } }],
      tools: [{ type: 'function', function: tool }],
    },
  },
  {
    path: '/model/chat/converse',
    body: {
      messages: [{ role: 'user', content: [{ text: 'x' }] }],
      system: [{ text: 's' }],
      toolConfig: { tools: [{ toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } }] },
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 1_024 } },
    },
  },
  { path: '/v1/conversations', body: { metadata: { a: 'b' }, items: [{ type: 'message', ...said[0] }] } },
  {
    path: '/v1/vector_stores',
    body: { name: 's', metadata: { a: 'b' }, expires_after: { anchor: 'last_active_at', days: 1 } },
  },
  {
    path: '/v1/vectors/collections/points/points/query',
    body: {
      prefetch: [{ query: [1, 0], limit: 3, filter }],
      query: { formula: { sum: ['$score', { gauss_decay: { x: 'n', scale: 5 } }] }, defaults: { n: 1 } },
      with_payload: { include: ['t'] },
    },
  },
  {
    path: '/v1/realtime/client_secrets',
    body: {
      expires_after: { anchor: 'created_at', seconds: 60 },
      session: { type: 'realtime', model: 'chat', audio: { output: { voice: 'alloy' } }, tools: [] },
    },
  },
  {
    path: '/mcp',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'web_search', arguments: {} } },
  },
  {
    path: '/v1/messages/batches',
    body: { requests: [{ custom_id: 'a', params: { model: 'claude', max_tokens: 10, messages: said } }] },
  },
];
