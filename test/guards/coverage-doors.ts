/** Parts of a request that can hold a text, and of an answer. */
export const requestParts = [
  'system',
  'user',
  'assistant',
  'tool definition',
  'schema of a tool',
  'default in a schema',
  'tool arguments',
  'tool result',
  'members of a tool result',
  'reasoning',
  'file text',
  'address of a picture',
  'picture',
] as const;
export const answerParts = ['output text', 'output tool arguments', 'output reasoning', 'n: 2'] as const;
export type RequestPart = (typeof requestParts)[number];
export type AnswerPart = (typeof answerParts)[number];

export interface CoverageRequest {
  path: string;
  body: object;
  headers?: Record<string, string>;
}

/** One way in: how a request of it says each part. A text says why the format has no such part. */
export interface Door {
  order(model: string, stream: boolean, body: object): CoverageRequest;
  /** A question, which asks for a call of the tool `find` where it says so. */
  question(text: string): Body;
  parts: Record<RequestPart, ((text: string) => Body) | string>;
  /** Members that make an answer have the part. */
  answers: Record<AnswerPart, ((question: Body) => Body) | string>;
  /** Parts that nobody can read, though the address or name beside them is read. */
  unread: readonly RequestPart[];
  /** Providers of the matrix that it meets, that of its format first. */
  providers: readonly string[];
}

type Body = Record<string, unknown>;

const png = 'iVBORw0KGgo=';
/** A member that is a label elsewhere: where the caller names the members, it is a text. */
const inMember = (text: string) => ({ name: text });
const call = (text: string) => JSON.stringify(inMember(text));
const schemaWith = (text: string) => ({ type: 'object', properties: { to: { type: 'string', description: text } } });
const schemaOf = { type: 'object', properties: { to: { type: 'string' } } };
const withDefault = (text: string) => ({
  type: 'object',
  properties: { to: { type: 'object', default: { name: text } } },
});
/** The simulator's calls have the first value that a schema allows. */
const schemaFor = (text: string) => ({ type: 'object', properties: { to: { enum: [text] } }, required: ['to'] });
const pictureAt = (text: string) => `https://pictures.example/${text}.png`;
const noFile = 'a text is part of a message';
const noReasoning = 'thoughts have no place';

const chatTool = (parameters: object, description = 'Finds.') => ({
  type: 'function',
  function: { name: 'find', description, parameters },
});
const chatOf = (...messages: object[]): Body => ({ messages });
const chatCall = (text: string, result: unknown) => [
  { role: 'user', content: 'Hello' },
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id: 't1', type: 'function', function: { name: 'find', arguments: call(text) } }],
  },
  { role: 'tool', tool_call_id: 't1', content: result },
];
const chatUser = (content: unknown) => chatOf({ role: 'user', content });

const chat: Door = {
  unread: ['file text', 'address of a picture', 'picture'],
  providers: ['openai', 'claude'],
  order: (model, stream, body) => ({ path: '/v1/chat/completions', body: { model, stream, ...body } }),
  question: (text) => chatUser(text),
  parts: {
    system: (text) => chatOf({ role: 'system', content: text }, { role: 'user', content: 'Hello' }),
    user: (text) => chatUser([{ type: 'text', text }]),
    assistant: (text) =>
      chatOf(
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: text },
        { role: 'user', content: 'Go on' },
      ),
    'tool definition': (text) => ({ ...chatUser('Hello'), tools: [chatTool(schemaOf, text)] }),
    'schema of a tool': (text) => ({ ...chatUser('Hello'), tools: [chatTool(schemaWith(text))] }),
    'default in a schema': (text) => ({ ...chatUser('Hello'), tools: [chatTool(withDefault(text))] }),
    'tool arguments': (text) => chatOf(...chatCall(text, 'Done')),
    'tool result': (text) => chatOf(...chatCall('here', text)),
    'members of a tool result': (text) => chatOf(...chatCall('here', call(text))),
    reasoning: (text) =>
      chatOf(
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi', reasoning_content: text },
        { role: 'user', content: 'Go on' },
      ),
    'file text': (text) =>
      chatUser([
        {
          type: 'file',
          file: {
            filename: `${text}.txt`,
            file_data: `data:text/plain;base64,${Buffer.from('Hello').toString('base64')}`,
          },
        },
      ]),
    'address of a picture': (text) => chatUser([{ type: 'image_url', image_url: { url: pictureAt(text) } }]),
    picture: () => chatUser([{ type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }]),
  },
  answers: {
    'output text': (question) => question,
    'output tool arguments': (question) => ({ ...question, tools: [chatTool(schemaFor('zebrafish'))] }),
    'output reasoning': (question) => question,
    'n: 2': (question) => ({ ...question, n: 2 }),
  },
};

const messagesUser = (content: unknown): Body => ({ max_tokens: 900, messages: [{ role: 'user', content }] });
const messagesTool = (input_schema: object, description = 'Finds.') => ({ name: 'find', description, input_schema });
const messagesCall = (text: string, content: unknown): Body => ({
  max_tokens: 900,
  messages: [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'find', input: inMember(text) }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content }] },
  ],
});
const messages: Door = {
  unread: ['address of a picture', 'picture'],
  providers: ['claude', 'openai'],
  order: (model, stream, body) => ({ path: '/v1/messages', body: { model, stream, ...body } }),
  question: (text) => messagesUser(text),
  parts: {
    system: (text) => ({ ...messagesUser('Hello'), system: [{ type: 'text', text }] }),
    user: (text) => messagesUser([{ type: 'text', text }]),
    assistant: (text) => ({
      max_tokens: 900,
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: text },
        { role: 'user', content: 'Go on' },
      ],
    }),
    'tool definition': (text) => ({ ...messagesUser('Hello'), tools: [messagesTool(schemaOf, text)] }),
    'schema of a tool': (text) => ({ ...messagesUser('Hello'), tools: [messagesTool(schemaWith(text))] }),
    'default in a schema': (text) => ({ ...messagesUser('Hello'), tools: [messagesTool(withDefault(text))] }),
    'tool arguments': (text) => messagesCall(text, 'Done'),
    'tool result': (text) => messagesCall('here', [{ type: 'text', text }]),
    'members of a tool result': (text) => messagesCall('here', call(text)),
    reasoning: (text) => ({
      max_tokens: 900,
      messages: [
        { role: 'user', content: 'Hello' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: text, signature: 's' },
            { type: 'text', text: 'Hi' },
          ],
        },
        { role: 'user', content: 'Go on' },
      ],
    }),
    'file text': (text) =>
      messagesUser([{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } }]),
    'address of a picture': (text) => messagesUser([{ type: 'image', source: { type: 'url', url: pictureAt(text) } }]),
    picture: () => messagesUser([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }]),
  },
  answers: {
    'output text': (question) => question,
    'output tool arguments': (question) => ({ ...question, tools: [messagesTool(schemaFor('zebrafish'))] }),
    'output reasoning': (question) => ({
      ...question,
      max_tokens: 9_000,
      thinking: { type: 'enabled', budget_tokens: 1_024 },
    }),
    'n: 2': 'an answer has one choice',
  },
};

const responsesTool = (parameters: object, description = 'Finds.') => ({
  type: 'function',
  name: 'find',
  description,
  parameters,
});
const responsesCall = (text: string, output: unknown): Body => ({
  input: [
    { role: 'user', content: 'Hello' },
    { type: 'function_call', call_id: 't1', name: 'find', arguments: call(text) },
    { type: 'function_call_output', call_id: 't1', output },
  ],
});
const responsesUser = (content: unknown): Body => ({ input: [{ role: 'user', content }] });
const responses: Door = {
  unread: ['file text', 'address of a picture', 'picture'],
  providers: ['openai', 'claude'],
  order: (model, stream, body) => ({ path: '/v1/responses', body: { model, stream, store: false, ...body } }),
  question: (input) => ({ input }),
  parts: {
    system: (text) => ({ input: 'Hello', instructions: text }),
    user: (text) => responsesUser([{ type: 'input_text', text }]),
    assistant: (text) => ({
      input: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] },
        { role: 'user', content: 'Go on' },
      ],
    }),
    'tool definition': (text) => ({ input: 'Hello', tools: [responsesTool(schemaOf, text)] }),
    'schema of a tool': (text) => ({ input: 'Hello', tools: [responsesTool(schemaWith(text))] }),
    'default in a schema': (text) => ({ input: 'Hello', tools: [responsesTool(withDefault(text))] }),
    'tool arguments': (text) => responsesCall(text, 'Done'),
    'tool result': (text) => responsesCall('here', text),
    'members of a tool result': (text) => responsesCall('here', call(text)),
    reasoning: (text) => ({
      input: [
        { role: 'user', content: 'Hello' },
        { type: 'reasoning', summary: [{ type: 'summary_text', text }] },
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: 'Go on' },
      ],
    }),
    'file text': (text) =>
      responsesUser([
        {
          type: 'input_file',
          filename: `${text}.txt`,
          file_data: `data:text/plain;base64,${Buffer.from('Hello').toString('base64')}`,
        },
      ]),
    'address of a picture': (text) => responsesUser([{ type: 'input_image', image_url: pictureAt(text) }]),
    picture: () => responsesUser([{ type: 'input_image', image_url: `data:image/png;base64,${png}` }]),
  },
  answers: {
    'output text': (question) => question,
    'output tool arguments': (question) => ({ ...question, tools: [responsesTool(schemaFor('zebrafish'))] }),
    'output reasoning': (question) => ({ ...question, reasoning: { effort: 'low', summary: 'auto' } }),
    'n: 2': 'an answer has one choice',
  },
};

const geminiUser = (...parts: object[]): Body => ({ contents: [{ role: 'user', parts }] });
const geminiTool = (parametersJsonSchema: object, description = 'Finds.') => ({
  functionDeclarations: [{ name: 'find', description, parametersJsonSchema }],
});
const geminiCall = (text: string, response: object): Body => ({
  contents: [
    { role: 'user', parts: [{ text: 'Hello' }] },
    { role: 'model', parts: [{ functionCall: { name: 'find', args: inMember(text) } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'find', response } }] },
  ],
});
const gemini: Door = {
  unread: ['address of a picture', 'picture'],
  providers: ['google', 'openai'],
  order: (model, stream, body) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body,
  }),
  question: (text) => geminiUser({ text }),
  parts: {
    system: (text) => ({ ...geminiUser({ text: 'Hello' }), systemInstruction: { parts: [{ text }] } }),
    user: (text) => geminiUser({ text }),
    assistant: (text) => ({
      contents: [
        { role: 'user', parts: [{ text: 'Hello' }] },
        { role: 'model', parts: [{ text }] },
        { role: 'user', parts: [{ text: 'Go on' }] },
      ],
    }),
    'tool definition': (text) => ({ ...geminiUser({ text: 'Hello' }), tools: [geminiTool(schemaOf, text)] }),
    'schema of a tool': (text) => ({ ...geminiUser({ text: 'Hello' }), tools: [geminiTool(schemaWith(text))] }),
    'default in a schema': (text) => ({ ...geminiUser({ text: 'Hello' }), tools: [geminiTool(withDefault(text))] }),
    'tool arguments': (text) => geminiCall(text, { result: 'Done' }),
    'tool result': (text) => geminiCall('here', { result: text }),
    'members of a tool result': (text) => geminiCall('here', inMember(text)),
    reasoning: (text) => ({
      contents: [
        { role: 'user', parts: [{ text: 'Hello' }] },
        { role: 'model', parts: [{ text, thought: true }, { text: 'Hi' }] },
        { role: 'user', parts: [{ text: 'Go on' }] },
      ],
    }),
    'file text': noFile,
    'address of a picture': (text) => geminiUser({ fileData: { mimeType: 'image/png', fileUri: pictureAt(text) } }),
    picture: () => geminiUser({ inlineData: { mimeType: 'image/png', data: png } }),
  },
  answers: {
    'output text': (question) => question,
    'output tool arguments': (question) => ({ ...question, tools: [geminiTool(schemaFor('zebrafish'))] }),
    'output reasoning': (question) => ({
      ...question,
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    }),
    'n: 2': (question) => ({ ...question, generationConfig: { candidateCount: 2 } }),
  },
};

const ollamaCall = (text: string, content: string) =>
  chatOf(
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: '', tool_calls: [{ function: { name: 'find', arguments: inMember(text) } }] },
    { role: 'tool', tool_name: 'find', content },
  );
const ollama: Door = {
  unread: ['picture'],
  providers: ['openai', 'claude'],
  order: (model, stream, body) => ({ path: '/api/chat', body: { model, stream, ...body } }),
  question: (text) => chatUser(text),
  parts: {
    ...chat.parts,
    user: (text) => chatUser(text),
    'tool arguments': (text) => ollamaCall(text, 'Done'),
    'tool result': (text) => ollamaCall('here', text),
    'members of a tool result': (text) => ollamaCall('here', call(text)),
    reasoning: (text) =>
      chatOf(
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi', thinking: text },
        { role: 'user', content: 'Go on' },
      ),
    'file text': noFile,
    'address of a picture': 'pictures are bytes',
    picture: () => chatOf({ role: 'user', content: 'Hello', images: [png] }),
  },
  answers: {
    'output text': (question) => question,
    'output tool arguments': (question) => ({ ...question, tools: [chatTool(schemaFor('zebrafish'))] }),
    'output reasoning': (question) => ({ ...question, think: true }),
    'n: 2': 'an answer has one choice',
  },
};

const cohereCall = (text: string, content: unknown) => [
  { role: 'user', content: 'Hello' },
  {
    role: 'assistant',
    tool_calls: [{ id: 't1', type: 'function', function: { name: 'find', arguments: call(text) } }],
  },
  { role: 'tool', tool_call_id: 't1', content },
];
const cohere: Door = {
  unread: ['address of a picture', 'picture'],
  providers: ['cohere', 'openai'],
  order: (model, stream, body) => ({ path: '/v2/chat', body: { model, stream, ...body } }),
  question: (text) => chatUser(text),
  parts: {
    ...chat.parts,
    'tool arguments': (text) => chatOf(...cohereCall(text, 'Done')),
    'tool result': (text) => chatOf(...cohereCall('here', text)),
    'members of a tool result': (text) =>
      chatOf(...cohereCall('here', [{ type: 'document', document: { id: 'd', data: inMember(text) } }])),
    reasoning: (text) =>
      chatOf(
        { role: 'user', content: 'Hello' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: text },
            { type: 'text', text: 'Hi' },
          ],
        },
        { role: 'user', content: 'Go on' },
      ),
    'file text': (text) => ({ ...chatUser('Hello'), documents: [{ id: 'd', data: { title: 'A', name: text } }] }),
  },
  answers: {
    'output text': (question) => question,
    'output tool arguments': (question) => ({ ...question, tools: [chatTool(schemaFor('zebrafish'))] }),
    'output reasoning': (question) => ({ ...question, thinking: { type: 'enabled', token_budget: 1_024 } }),
    'n: 2': 'an answer has one choice',
  },
};

const converseUser = (...content: object[]): Body => ({ messages: [{ role: 'user', content }] });
const converseTool = (json: object, description = 'Finds.') => ({
  tools: [{ toolSpec: { name: 'find', description, inputSchema: { json } } }],
});
const converseCall = (text: string, content: object[]): Body => ({
  messages: [
    { role: 'user', content: [{ text: 'Hello' }] },
    { role: 'assistant', content: [{ toolUse: { toolUseId: 't1', name: 'find', input: inMember(text) } }] },
    { role: 'user', content: [{ toolResult: { toolUseId: 't1', content } }] },
  ],
});
const converse: Door = {
  unread: ['picture'],
  providers: ['aws', 'openai', 'claude'],
  order: (model, stream, body) => ({ path: `/model/${model}/converse${stream ? '-stream' : ''}`, body }),
  question: (text) => converseUser({ text }),
  parts: {
    system: (text) => ({ ...converseUser({ text: 'Hello' }), system: [{ text }] }),
    user: (text) => converseUser({ text }),
    assistant: (text) => ({
      messages: [
        { role: 'user', content: [{ text: 'Hello' }] },
        { role: 'assistant', content: [{ text }] },
        { role: 'user', content: [{ text: 'Go on' }] },
      ],
    }),
    'tool definition': (text) => ({ ...converseUser({ text: 'Hello' }), toolConfig: converseTool(schemaOf, text) }),
    'schema of a tool': (text) => ({ ...converseUser({ text: 'Hello' }), toolConfig: converseTool(schemaWith(text)) }),
    'default in a schema': (text) => ({
      ...converseUser({ text: 'Hello' }),
      toolConfig: converseTool(withDefault(text)),
    }),
    'tool arguments': (text) => ({ ...converseCall(text, [{ text: 'Done' }]), toolConfig: converseTool(schemaOf) }),
    'tool result': (text) => ({ ...converseCall('here', [{ text }]), toolConfig: converseTool(schemaOf) }),
    'members of a tool result': (text) => ({
      ...converseCall('here', [{ json: inMember(text) }]),
      toolConfig: converseTool(schemaOf),
    }),
    reasoning: (text) => ({
      messages: [
        { role: 'user', content: [{ text: 'Hello' }] },
        {
          role: 'assistant',
          content: [{ reasoningContent: { reasoningText: { text, signature: 's' } } }, { text: 'Hi' }],
        },
        { role: 'user', content: [{ text: 'Go on' }] },
      ],
    }),
    'file text': (text) => converseUser({ text: 'Read' }, { document: { format: 'txt', name: 'a', source: { text } } }),
    'address of a picture': 'pictures are bytes, or in a bucket',
    picture: () => converseUser({ text: 'See' }, { image: { format: 'png', source: { bytes: png } } }),
  },
  answers: {
    'output text': (question) => question,
    'output tool arguments': (question) => ({ ...question, toolConfig: converseTool(schemaFor('zebrafish')) }),
    'output reasoning': (question) => ({
      ...question,
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 1_024 } },
      inferenceConfig: { maxTokens: 9_000 },
    }),
    'n: 2': 'an answer has one choice',
  },
};

const sdkUser = (...content: object[]): Body => ({ prompt: [{ role: 'user', content }] });
const sdkHello = { role: 'user', content: [{ type: 'text', text: 'Hello' }] };
const sdkTool = (inputSchema: object, description = 'Finds.') => ({
  type: 'function',
  name: 'find',
  description,
  inputSchema,
});
const sdkCall = (text: string, output: object): Body => ({
  prompt: [
    sdkHello,
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 't1', toolName: 'find', input: inMember(text) }] },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 't1', toolName: 'find', output }] },
  ],
});
const aiSdk: Door = {
  unread: ['file text', 'address of a picture', 'picture'],
  providers: ['openai', 'claude'],
  order: (model, stream, body) => ({
    path: '/v4/ai/language-model',
    body,
    headers: {
      'ai-language-model-id': model,
      'ai-language-model-streaming': String(stream),
      'ai-language-model-specification-version': '3',
    },
  }),
  question: (text) => sdkUser({ type: 'text', text }),
  parts: {
    system: (text) => ({ prompt: [{ role: 'system', content: text }, sdkHello] }),
    user: (text) => sdkUser({ type: 'text', text }),
    assistant: (text) => ({ prompt: [sdkHello, { role: 'assistant', content: [{ type: 'text', text }] }, sdkHello] }),
    'tool definition': (text) => ({ prompt: [sdkHello], tools: [sdkTool(schemaOf, text)] }),
    'schema of a tool': (text) => ({ prompt: [sdkHello], tools: [sdkTool(schemaWith(text))] }),
    'default in a schema': (text) => ({ prompt: [sdkHello], tools: [sdkTool(withDefault(text))] }),
    'tool arguments': (text) => sdkCall(text, { type: 'text', value: 'Done' }),
    'tool result': (text) => sdkCall('here', { type: 'text', value: text }),
    'members of a tool result': (text) => sdkCall('here', { type: 'json', value: inMember(text) }),
    reasoning: (text) => ({
      prompt: [
        sdkHello,
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text },
            { type: 'text', text: 'Hi' },
          ],
        },
        sdkHello,
      ],
    }),
    'file text': (text) =>
      sdkUser({
        type: 'file',
        filename: `${text}.txt`,
        mediaType: 'text/plain',
        data: Buffer.from('Hello').toString('base64'),
      }),
    'address of a picture': (text) => sdkUser({ type: 'file', mediaType: 'image/png', data: pictureAt(text) }),
    picture: () => sdkUser({ type: 'file', mediaType: 'image/png', data: png }),
  },
  answers: {
    'output text': (question) => question,
    'output tool arguments': (question) => ({ ...question, tools: [sdkTool(schemaFor('zebrafish'))] }),
    'output reasoning': (question) => ({ ...question, reasoning: 'low' }),
    'n: 2': 'an answer has one choice',
  },
};

const onlyText = 'a completion is of one text';
const completions: Door = {
  unread: [],
  providers: ['openai'],
  order: (model, stream, body) => ({ path: '/v1/completions', body: { model, stream, ...body } }),
  question: (prompt) => ({ prompt }),
  parts: {
    ...(Object.fromEntries(requestParts.map((part) => [part, onlyText])) as Record<RequestPart, string>),
    user: (prompt) => ({ prompt }),
  },
  answers: {
    'output text': (question) => question,
    'output tool arguments': onlyText,
    'output reasoning': noReasoning,
    'n: 2': (question) => ({ ...question, n: 2 }),
  },
};

export const doors: Readonly<Record<string, Door>> = {
  chat,
  messages,
  responses,
  gemini,
  ollama,
  cohere,
  converse,
  'AI SDK': aiSdk,
  completions,
};
