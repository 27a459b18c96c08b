import { isObject, type JsonObject, type JsonValue } from '../../src/kernel/json.ts';
import { uriText } from '../../src/kernel/web/uri-text.ts';
import { argumentParts, beforeDelta, textParts } from '../../src/simulator/answer-pace.ts';
import type { Step } from '../../src/simulator/answer-steps.ts';
import type { Answer, Choice } from '../../src/simulator/compose-answer.ts';
import type { Endpoint } from '../../src/simulator/endpoints/endpoint.ts';
import { chatSpeech } from '../../src/simulator/endpoints/speak-chat.ts';
import { messagesSpeech } from '../../src/simulator/endpoints/speak-messages.ts';
import type { ErrorWords, Speech } from '../../src/simulator/endpoints/speech.ts';
import type { FaultSpec } from '../../src/simulator/faults/fault-spec.ts';
import type { Prompt } from '../../src/simulator/prompt.ts';
import { invoked } from './bedrock-models.ts';

/* Bedrock's operations as their reference has them, before AWS's wire (`start-aws.ts`) makes frames of their events. */

const operationPath = /\/model\/([^/]+)\/(converse|invoke)(-stream|-with-response-stream)?$/;

/** The operation at a path; null for none. */
export function bedrockEndpoint(path: string): Endpoint | null {
  const [, coded = '', operation, streamed] = operationPath.exec(path) ?? [];
  if (operation === undefined) {
    const isList = path.endsWith('/foundation-models');
    return isList ? { kind: 'models', speech: converseSpeech, method: 'GET', pathModel: null } : null;
  }
  const speech = operation === 'converse' ? converseSpeech : invokeSpeech;
  const endpoint: Endpoint = { kind: 'chat', speech, method: 'POST', pathModel: uriText(coded) };
  return streamed === undefined ? endpoint : { ...endpoint, urlMembers: { stream: true } };
}

const errorBody = ({ message }: ErrorWords) => JSON.stringify({ message });
const exceptionFrame = ({ message }: ErrorWords) =>
  `event: internalServerException\ndata: ${JSON.stringify({ message })}\n\n`;

const stopReasons = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
} as const satisfies Record<Choice['finish'], string>;

const converseSpeech: Speech = {
  read: (body, pathModel) => chatSpeech.read(asChat(body), pathModel),
  introFrames: () => 1,
  finalParts: ['finish', 'usage'],
  requestIdHeader: 'x-amzn-requestid',
  models: {
    list: (modelSummaries) => ({ modelSummaries: [...modelSummaries] }),
    one: (modelId) => ({ modelId, outputModalities: ['TEXT'], inferenceTypesSupported: ['ON_DEMAND'] }),
  },
  whole(answer, _prompt, spec) {
    const [choice] = answer.choices;
    const content = [
      ...(choice!.text === '' ? [] : [{ text: choice!.text }]),
      ...choice!.calls.map(({ name, argumentsJson }, at) => ({
        toolUse: { toolUseId: idOf(answer, at), name, input: JSON.parse(argumentsJson) as JsonObject },
      })),
    ];
    const output = { message: { role: 'assistant', content } };
    return JSON.stringify({ output, stopReason: reasonOf(answer, spec), usage: usageOf(answer) });
  },
  frames: converseFrames,
  errorBody,
  errorFrame: exceptionFrame,
};

function* converseFrames(answer: Answer, _prompt: Prompt, spec: FaultSpec): Generator<Step> {
  const omit = spec.omit ?? [];
  const event = (type: string, data: JsonObject) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  const [choice] = answer.choices;
  yield event('messageStart', { role: 'assistant' });
  let index = 0;
  for (const [at, tokens] of textParts(choice!.text, spec).entries()) {
    yield* beforeDelta(spec, at);
    yield event('contentBlockDelta', { contentBlockIndex: 0, delta: { text: tokens.join('') } });
  }
  if (choice!.text !== '') yield event('contentBlockStop', { contentBlockIndex: index++ });
  for (const [at, { name, argumentsJson }] of choice!.calls.entries()) {
    const toolUse = { toolUseId: idOf(answer, at), name };
    yield event('contentBlockStart', { contentBlockIndex: index, start: { toolUse } });
    for (const input of argumentParts(argumentsJson)) {
      yield event('contentBlockDelta', { contentBlockIndex: index, delta: { toolUse: { input } } });
    }
    yield event('contentBlockStop', { contentBlockIndex: index++ });
  }
  if (!omit.includes('finish')) yield event('messageStop', { stopReason: reasonOf(answer, spec) });
  if (!omit.includes('usage')) yield event('metadata', { usage: usageOf(answer), metrics: { latencyMs: 42 } });
}

function idOf({ serial }: Answer, at: number): string {
  return `tooluse_sim${serial}_${at}`;
}

function reasonOf({ choices }: Answer, spec: FaultSpec): string {
  return spec.finish ?? stopReasons[choices[0]!.finish];
}

function usageOf({ inputTokens, outputTokens }: Answer): JsonObject {
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}

/** The same in chat completions, as far as the simulator looks at a request. */
function asChat({ messages, system, toolConfig, inferenceConfig, stream }: JsonObject): JsonObject {
  const config = isObject(inferenceConfig) ? inferenceConfig : {};
  const { tools, toolChoice } = isObject(toolConfig) ? toolConfig : {};
  const list = (value: JsonValue | undefined) => (Array.isArray(value) ? value.filter(isObject) : []);
  const textOf = (content: JsonValue | undefined) =>
    list(content)
      .map(({ text }) => text ?? '')
      .join('');
  const body: JsonObject = {
    messages: [
      ...list(system).map(({ text }) => ({ role: 'system', content: text ?? '' })),
      ...list(messages).map(({ role, content }) => ({
        role: list(content).some((block) => 'toolResult' in block) ? 'tool' : String(role),
        content: textOf(content),
      })),
    ],
    stream: stream === true,
    max_tokens: config.maxTokens ?? null,
    stop: config.stopSequences ?? null,
  };
  if (tools === undefined) return body;
  body.tools = list(tools).flatMap(({ toolSpec: spec }) =>
    isObject(spec) && isObject(spec.inputSchema)
      ? [{ type: 'function', function: { name: spec.name!, parameters: spec.inputSchema.json! } }]
      : [],
  );
  if (isObject(toolChoice)) body.tool_choice = 'any' in toolChoice ? 'required' : 'auto';
  return body;
}

/** Claude in Anthropic's own format, whose model stands in the path alone; and models that do not chat. */
const invokeSpeech: Speech = {
  ...messagesSpeech,
  requestIdHeader: 'x-amzn-requestid',
  read(body, pathModel) {
    if (!pathModel?.includes('anthropic.')) return readOther(body, pathModel ?? '');
    for (const field of ['model', 'metadata']) {
      if (field in body) return { refused: `${field}: Extra inputs are not permitted`, param: field };
    }
    const version = 'anthropic_version';
    if (body[version] !== 'bedrock-2023-05-31') return { refused: `${version}: Field required`, param: version };
    return messagesSpeech.read({ ...body, model: pathModel }, pathModel);
  },
  whole(answer, prompt, spec) {
    const other = invoked(answer.model, JSON.parse(prompt.lastUserText.startsWith('{') ? prompt.lastUserText : '{}'));
    return other === null ? messagesSpeech.whole(answer, prompt, spec) : JSON.stringify(other);
  },
  errorBody,
  errorFrame: exceptionFrame,
};

/** Their whole body is the prompt, which `whole` answers. */
function readOther(body: JsonObject, model: string): ReturnType<Speech['read']> {
  const refused = invoked(model, body);
  if (typeof refused === 'string' || refused === null) return { refused: refused ?? 'Unknown model.', param: null };
  return chatSpeech.read({ model, messages: [{ role: 'user', content: JSON.stringify(body) }] }, model);
}
