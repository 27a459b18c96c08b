import assert from 'node:assert/strict';
import type { JsonObject } from '../../../src/kernel/json.ts';
import type { Ask, CallerFormat, Seen, ServerEvent } from './formats.ts';

interface Part {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  functionCall?: { id?: string; name: string; args?: JsonObject };
}
interface Usage {
  promptTokenCount: number;
  cachedContentTokenCount?: number;
  candidatesTokenCount?: number;
  thoughtsTokenCount?: number;
  totalTokenCount: number;
}
interface Chunk {
  candidates?: { content?: { role: string; parts?: Part[] }; finishReason?: string; index?: number }[];
  usageMetadata?: Usage;
}

/** `generateContent` as Google's clients write and read it. */
export const geminiCaller: CallerFormat = {
  id: 'gemini',
  path: (model, delivery) =>
    `/v1beta/models/${model}:${delivery === 'stream' ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body(_model, ask) {
    const body: JsonObject = { contents: contentsOf(ask) };
    const config: JsonObject = {};
    if (ask.system) body.systemInstruction = { parts: [{ text: ask.system }] };
    if (ask.tools) {
      const declared = ask.tools.map(({ name, parameters }) => ({ name, parametersJsonSchema: parameters }));
      body.tools = [{ functionDeclarations: declared }];
    }
    if (ask.demand) {
      body.toolConfig = { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [ask.demand] } };
    }
    if (ask.think) config.thinkingConfig = { includeThoughts: true, thinkingLevel: 'low' };
    if (ask.schema) Object.assign(config, { responseMimeType: 'application/json', responseJsonSchema: ask.schema });
    if (ask.stop) config.stopSequences = [ask.stop];
    if (ask.maxTokens) config.maxOutputTokens = ask.maxTokens;
    if (Object.keys(config).length > 0) body.generationConfig = config;
    return { ...body, ...ask.beside };
  },
  whole: (body) => seenOf([body as unknown as Chunk]),
  errorOf(body) {
    const { message, status, code } = body.error as { message: string; status: string; code: number };
    return { message, type: status, code };
  },
  stream: readStream,
};

function contentsOf(ask: Ask): JsonObject[] {
  const { picture, document, answered } = ask;
  const parts: JsonObject[] = [{ text: ask.say }];
  if (picture !== undefined) {
    parts.push(
      picture.startsWith('http')
        ? { fileData: { fileUri: picture, mimeType: 'image/png' } }
        : { inlineData: { mimeType: 'image/png', data: picture } },
    );
  }
  if (document !== undefined) parts.push({ inlineData: { mimeType: 'application/pdf', data: document } });
  const called = (answered?.turn ?? []).flatMap((content) => content.parts as unknown as Part[]);
  const results = (answered?.results ?? []).map(({ id, text }) => {
    const { name } = called.find((part) => part.functionCall?.id === id)!.functionCall!;
    return { functionResponse: { id, name, response: { output: text } } };
  });
  return [
    { role: 'user', parts },
    ...(answered?.turn ?? []),
    ...(results.length > 0 ? [{ role: 'user', parts: results }] : []),
  ];
}

function kindOf(part: Part): Seen['order'][number] | null {
  if (part.functionCall !== undefined) return 'call';
  if (part.text === undefined || part.text === '') return null;
  return part.thought === true ? 'thinking' : 'text';
}

function seenOf(chunks: readonly Chunk[]): Seen {
  const candidates = chunks.flatMap((chunk) => chunk.candidates?.filter(({ index = 0 }) => index === 0) ?? []);
  const parts = candidates.flatMap(({ content }) => content?.parts ?? []);
  const textOf = (kind: 'thinking' | 'text') => parts.map((part) => (kindOf(part) === kind ? part.text : '')).join('');
  const order: Seen['order'] = [];
  for (const part of parts) {
    const kind = kindOf(part);
    if (kind !== null && (kind === 'call' || order.at(-1) !== kind)) order.push(kind);
  }
  const usage = chunks.at(-1)!.usageMetadata ?? null;
  const thoughts = usage?.thoughtsTokenCount ?? 0;
  const answered = usage?.candidatesTokenCount ?? 0;
  if (usage !== null) assert.equal(usage.totalTokenCount, usage.promptTokenCount + answered + thoughts);
  return {
    text: textOf('text'),
    thinking: textOf('thinking'),
    calls: parts.flatMap(({ functionCall: call }) =>
      call === undefined
        ? []
        : [{ id: call.id ?? '', name: call.name, argumentsJson: JSON.stringify(call.args ?? {}) }],
    ),
    order,
    stop: candidates.at(-1)?.finishReason ?? '',
    stopSequence: null,
    usage: usage && {
      input: usage.promptTokenCount,
      cached: usage.cachedContentTokenCount ?? 0,
      output: answered + thoughts,
    },
    turn: [{ role: 'model', parts: parts as unknown as JsonObject[] }],
  };
}

function readStream(events: readonly ServerEvent[]): ReturnType<CallerFormat['stream']> {
  const chunks: Chunk[] = [];
  for (const { event, data } of events) {
    assert.equal(event, '', "Google's streams have no event names");
    const chunk = JSON.parse(data) as Chunk & JsonObject;
    if (chunk.error !== undefined) {
      assert.equal(events.at(-1)!.data, data, 'an error ends the stream');
      return { seen: null, error: geminiCaller.errorOf(chunk), clean: false };
    }
    chunks.push(chunk);
  }
  // Its only mark of an end is why it ended.
  const clean = chunks.at(-1)?.candidates?.some(({ finishReason }) => finishReason !== undefined) ?? false;
  return { seen: clean ? seenOf(chunks) : null, error: null, clean };
}
