import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, listIn, objectIn, stringOr } from '../../../kernel/json.ts';
import { fieldOf, type Loss } from '../../neutral/loss.ts';
import { noNeeds, type RequestNeeds } from '../../neutral/request.ts';
import { estimatedInput } from '../../neutral/usage.ts';
import { conversationStart } from '../../neutral/value-checks.ts';
import type { CallerRequest } from '../dialect.ts';
import { fieldNames } from '../field-table.ts';
import { type ForwardBody, gatewayOnlyFields } from '../forward-body.ts';
import type { ForwardTarget } from '../forward-target.ts';
import { type MemberKinds, memberKinds, type NamingRules, objectsBy } from '../named-objects.ts';
import { someExtras } from '../request-extras.ts';
import { decodeSystem, mayHoldSealed, textIn, unsealSignature } from './decode-messages.ts';
import { withOperatorFields } from './encode-request.ts';
import { rulesOf } from './model-rules.ts';
import { pathModel, pathStream, withoutPathMembers } from './path-members.ts';
import { checkRequest, generationFields, toNeutral } from './request-fields.ts';
import { withWholeToolTurns } from './tool-turns.ts';
import { noSignature } from './wire.ts';

/**
 * Checks a body and keeps it unchanged: parts that only a conversion needs are built on demand. The route adds model
 * and stream (`withPathMembers`).
 */
export function readRequest(raw: Buffer, written: JsonObject): CallerRequest | Failure {
  const { [pathModel]: model, [pathStream]: stream, ...fields } = written;
  const checked = checkRequest({ ...asInReference(fields), model, stream });
  if (isFailure(checked)) return checked;
  const { body, vendors } = checked;
  const config = objectIn(body.generationConfig);
  const thinking = objectIn(config.thinkingConfig);
  const nativeOnly = vendors ?? googleAlone(body, config);
  return {
    model: stringOr(body.model, ''),
    stream: body.stream === true,
    includeUsage: true,
    n: typeof config.candidateCount === 'number' ? config.candidateCount : 1,
    seed: typeof config.seed === 'number' ? config.seed : null,
    needs: needsOf(body, config, raw.length),
    user: null,
    conversationStart: startOf(body),
    echo: { thoughts: thinking.includeThoughts === true ? 'shown' : 'hidden' },
    wordFor: (field) => callersWord(field, decodeSystem(body.systemInstruction).length),
    extras: nativeOnly === null ? null : someExtras({ nativeOnly, nativeFor: vendors === null ? null : 'judge' }),
    neutral: () => toNeutral(body),
    forward: (target) => forwardBody(raw, body, target, Object.hasOwn(fields, 'model')),
  };
}

/** Types of texts that every provider writes. */
const plainTypes: ReadonlySet<string> = new Set(['', 'text/plain', 'application/json']);

function googleAlone(body: JsonObject, config: JsonObject): Failure | null {
  const serverTool = firstServerTool(body.tools);
  if (serverTool !== null) {
    return invalid(
      serverTool,
      `Only Google runs '${serverTool}', and no Google target of this model is left. Leave the tool out.`,
    );
  }
  const { responseModalities: modalities, responseMimeType: written } = config;
  // `text/x.enum`, and what comes after it: the answer would be another without it.
  if (typeof written === 'string' && !plainTypes.has(written)) {
    return invalid(
      'generationConfig.responseMimeType',
      `Only Google answers in '${written.slice(0, 100)}', and no Google target of this model is left. Send 'application/json', and the schema of an object.`,
    );
  }
  if (!Array.isArray(modalities) || modalities.every((one) => one === 'TEXT' || one === 'MODALITY_UNSPECIFIED')) {
    return null;
  }
  const field = 'generationConfig.responseModalities';
  return invalid(
    field,
    `Only Google supports '${field}', and no Google target of this model is left. Leave the field out.`,
  );
}

/** Search, code execution…: what Google runs itself. */
function firstServerTool(tools: JsonValue | undefined): string | null {
  if (!Array.isArray(tools)) return null;
  for (const [i, tool] of tools.entries()) {
    const name = isObject(tool) ? Object.keys(tool).find((key) => key !== 'functionDeclarations') : undefined;
    if (name !== undefined) return `tools[${i}].${name}`;
  }
  return null;
}

function needsOf(body: JsonObject, config: JsonObject, bodyBytes: number): RequestNeeds {
  const needs: RequestNeeds = {
    ...noNeeds,
    tools:
      Array.isArray(body.tools) &&
      body.tools.some((tool) => isObject(tool) && Array.isArray(tool.functionDeclarations)),
    logprobs: config.responseLogprobs === true,
    jsonSchema: config.responseSchema !== undefined || config.responseJsonSchema !== undefined,
    reasoning: isObject(config.thinkingConfig) && config.thinkingConfig.thinkingBudget !== 0,
    ...(Array.isArray(config.stopSequences) && config.stopSequences.length > 0 && { stop: true }),
    n: typeof config.candidateCount === 'number' ? config.candidateCount : 1,
    stream: body.stream === true,
    inputTokensEstimate: estimatedInput(body, bodyBytes),
    maxOutputTokens: typeof config.maxOutputTokens === 'number' ? config.maxOutputTokens : null,
  };
  for (const part of partsOf(body)) {
    const blob = isObject(part.inlineData) ? part.inlineData : isObject(part.fileData) ? part.fileData : null;
    if (blob === null) continue;
    const mediaType = stringOr(blob.mimeType, '');
    if (mediaType.startsWith('image/')) needs.vision = true;
    else if (mediaType.startsWith('audio/')) needs.audioIn = true;
    else if (mediaType === 'application/pdf') needs.files = true;
  }
  return needs;
}

/* Bodies that only Google takes are read too: nothing below is sure of more than `ours` of the table. */

function* partsOf(body: JsonObject): Generator<JsonObject> {
  for (const content of body.contents as JsonObject[]) yield* partsIn(content);
}

function partsIn({ parts }: JsonObject): JsonObject[] {
  return listIn(parts) as JsonObject[];
}

function startOf({ systemInstruction, contents }: JsonObject): string {
  const turns = (contents as JsonObject[]).map((content) => {
    return { role: content.role === 'model' ? 'assistant' : 'user', content: partsIn(content) };
  });
  return conversationStart(turns, isObject(systemInstruction) ? partsIn(systemInstruction) : []);
}

/** OpenAI's names of fields, which encoders use for losses and refusals, in the words of Google's callers. */
const words: ReadonlyMap<string, string> = new Map([
  ...fieldNames(generationFields, 'generationConfig.'),
  ['logprobs', 'generationConfig.responseLogprobs'],
  ['reasoning_effort', 'generationConfig.thinkingConfig'],
  ['service_tier', 'serviceTier'],
  ['thinking.budget_tokens', 'generationConfig.thinkingConfig.thinkingBudget'],
  // These two are thoughts of earlier turns, not what asks for new ones.
  ['thinking', 'contents.thought'],
  ['reasoning_content', 'contents.thought'],
  ['tool_choice', 'toolConfig'],
  ['parallel_tool_calls', 'toolConfig'],
]);

/** `instructions`: how many messages before the first of `contents` were made of the system instruction. */
export function callersWord(field: string, instructions: number): string {
  const word = words.get(field);
  if (word !== undefined) return word;
  if (field.startsWith('response_format')) return 'generationConfig.responseSchema';
  return field
    .replace(/^messages\[(\d+)\]/, (_, at: string) =>
      Number(at) < instructions ? 'systemInstruction' : `contents[${Number(at) - instructions}]`,
    )
    .replace(/^messages\b/, 'contents')
    .replace(/\.(reasoning_)?content\b/, '.parts');
}

/** Fields in camel case, as the body has been read; Google accepts snake case, too. */
export const staysHere: ReadonlySet<string> = new Set(
  [...gatewayOnlyFields].map((name) => name.replace(/_([a-z])/g, (_, c) => c.toUpperCase())),
);

/**
 * Bytes of the caller, unless something in them must change for the target. A model that is named in them too is not
 * the target's.
 */
function forwardBody(raw: Buffer, body: JsonObject, target: ForwardTarget, namesModel: boolean): ForwardBody {
  const losses: Loss[] = [];
  const changed = changedBody(raw, body, target, losses);
  const unchanged = changed === null && !namesModel ? withoutPathMembers(raw) : null;
  if (unchanged !== null) return { bytes: unchanged, losses };
  const { model: _, stream: __, ...rest } = changed ?? body;
  return { bytes: JSON.stringify(rest), losses };
}

/** Null when nothing has to change. */
function changedBody(raw: Buffer, body: JsonObject, target: ForwardTarget, losses: Loss[]): JsonObject | null {
  let changed: JsonObject | null = null;
  const config = objectIn(body.generationConfig);
  const limit = target.maxOutputTokens;
  if (typeof config.maxOutputTokens === 'number' && limit !== null && config.maxOutputTokens > limit) {
    losses.push({ field: 'generationConfig.maxOutputTokens', why: 'clamped' });
    changed = { ...body, generationConfig: { ...config, maxOutputTokens: limit } };
  }
  for (const name in body) {
    if (!staysHere.has(name)) continue;
    changed = { ...(changed ?? body) };
    delete changed[name];
  }
  const { n, seed, ...fields } = target.body;
  // One child of a fan-out asks for one candidate.
  const child = n === undefined ? {} : { candidateCount: n, ...(seed === undefined ? {} : { seed }) };
  if (Object.keys(child).length > 0) {
    const present = isObject((changed ?? body).generationConfig)
      ? ((changed ?? body).generationConfig as JsonObject)
      : {};
    changed = { ...(changed ?? body), generationConfig: { ...present, ...(child as JsonObject) } };
  }
  if (Object.keys(fields).length > 0) changed = withOperatorFields(changed ?? body, fields);
  if (mayHoldSealed(raw)) {
    const contents = ((changed ?? body).contents as JsonObject[]).map(withoutSealed);
    changed = { ...(changed ?? body), contents };
  }
  const { signedCalls } = rulesOf(target.model);
  const contents = withWholeToolTurns((changed ?? body).contents as JsonObject[], signedCalls);
  return contents === null ? changed : { ...(changed ?? body), contents };
}

/** Another vendor's proof means nothing to Google, which still wants one on its calls. */
function withoutSealed(content: JsonObject): JsonObject {
  if (!Array.isArray(content.parts)) return content;
  const parts = partsIn(content).map((part): JsonValue => {
    if (typeof part.thoughtSignature !== 'string' || unsealSignature(part.thoughtSignature) === null) return part;
    const { thoughtSignature: _, ...rest } = part;
    if (rest.functionCall !== undefined) return { ...rest, thoughtSignature: noSignature };
    return textIn(rest) === '' ? { ...rest, text: '' } : rest;
  });
  return { ...content, parts };
}

/** Names made up by callers and models, which nobody may change. */
const opaque: ReadonlySet<string> = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
  'labels',
]);

/** Lists of objects: Google's servers take one object for a list of one. */
const lists: ReadonlySet<string> = new Set(['contents', 'parts', 'tools', 'functionDeclarations']);

/**
 * A body as Google's reference writes it. Google's servers also accept `system_instruction`, which its examples use,
 * and one object in place of a list. The same object if there is nothing to change.
 */
export function asInReference(body: JsonObject): JsonObject {
  return renamed(body) as JsonObject;
}

function renamed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) {
    const list = value.map(renamed);
    return list.some((one, i) => one !== value[i]) ? list : value;
  }
  if (!isObject(value)) return value;
  let changed = false;
  const members = Object.entries(value).map(([name, member]): [string, JsonValue | undefined] => {
    const camel = name.includes('_')
      ? name.replace(/(?<=[a-z])_([a-z])/g, (_, letter: string) => letter.toUpperCase())
      : name;
    // Given both ways, each stays as it is, and the other is unknown.
    const free = camel === name || !Object.hasOwn(value, camel);
    const one = member === undefined || opaque.has(camel) ? member : renamed(member);
    const inner = isObject(one) && lists.has(camel) ? [one] : one;
    if ((free && camel !== name) || inner !== member) changed = true;
    return [free ? camel : name, inner];
  });
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return changed ? Object.fromEntries(members) : value;
}

/** Spelling of Google's reference; its servers accept `cached_content` as well. */
const named: MemberKinds = {
  cachedContent: 'id',
  fileUri: 'file-uri',
  fileSearchStoreNames: 'id',
  datastore: 'id',
  dataStore: 'id',
  engine: 'id',
  ragCorpus: 'id',
  ragCorpora: 'id',
  ragFileIds: 'id',
  // Ids of Google's Secret Manager, where the operator keeps them.
  apiKeySecret: 'id',
  apiKeySecretVersion: 'id',
  credentialSecret: 'id',
  args: 'opaque',
  response: 'opaque',
  parameters: 'opaque',
  parametersJsonSchema: 'opaque',
  responseSchema: 'opaque',
  responseJsonSchema: 'opaque',
  labels: 'opaque',
};

/** Places in a request that name caches, files and stores of Google. */
const rules: NamingRules = {
  members: memberKinds({
    ...named,
    ...Object.fromEntries(Object.entries(named).map(([name, kind]) => [fieldOf(name), kind])),
  }),
};

/** Objects that a body names, in either spelling. Its answers give out no ids. */
export const objects = objectsBy(rules);
