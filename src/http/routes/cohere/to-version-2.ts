import { isDeepStrictEqual } from 'node:util';
import { questionsOf } from '../../../formats/dialects/field-table.ts';
import { bodySchema, type JsonSchema } from '../../../formats/neutral/described-check.ts';
import * as v from '../../../formats/neutral/value-checks.ts';
import { type Failure, invalid } from '../../../kernel/failure.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  jsonText,
  objectIn,
  objectsIn,
  stringOr,
} from '../../../kernel/json.ts';

/* Requests of version 1 of Cohere's API (types of cohere-ai 8.1.0) as those of version 2, which judges what both have. */

/** Paths of version 1 that a conversation answers, by their form. */
export type Version1Form = 'chat' | 'generate';

/** A request of version 2; `lost`: fields of the caller that it has no place for. */
export interface AsVersion2 {
  body: JsonObject;
  lost: readonly string[];
}

const turnsMax = 100_000;
const toolsMax = 128;
const documentsMax = 10_000;

const call = v.members("an object with 'name' and 'parameters'", {
  name: v.needed(v.functionName, 'a name'),
  parameters: v.object,
});
const results = v.arrayOf(
  v.members("an object with 'call' and 'outputs'", {
    call: v.needed(call, 'the call that it answers'),
    outputs: v.needed(v.arrayOf(v.object, 0, documentsMax, 'objects'), 'an array of objects'),
  }),
  0,
  toolsMax,
  'results',
);
const turn = v.members("an object with 'role' and 'message'", {
  role: v.needed(v.oneOf('USER', 'CHATBOT', 'SYSTEM', 'TOOL'), "'USER', 'CHATBOT', 'SYSTEM' or 'TOOL'"),
  message: v.string,
  tool_calls: v.arrayOf(call, 0, toolsMax, 'calls'),
  tool_results: results,
});
const tool = v.members("an object with 'name'", {
  name: v.needed(v.functionName, 'a name'),
  description: v.string,
  parameter_definitions: v.mapOf(
    v.members("an object with 'type'", {
      type: v.needed(v.stringOf(1, 200), "a type such as 'str'"),
      description: v.string,
    }),
    1_000,
    'parameters',
  ),
});

const passed = 'model stream temperature max_tokens k p seed stop_sequences frequency_penalty presence_penalty'.split(
  ' ',
);
const shared = [...passed, 'safety_mode'].map((name): [string, readonly [v.Check]] => [name, [v.anyJson]]);

const fields: Readonly<Record<Version1Form, ReadonlyMap<string, readonly [v.Check]>>> = {
  chat: new Map([
    ...shared,
    ['message', [v.string]],
    ['preamble', [v.string]],
    ['chat_history', [v.arrayOf(turn, 0, turnsMax, 'turns')]],
    ['documents', [v.arrayOf(v.object, 0, documentsMax, 'documents')]],
    ['tools', [v.arrayOf(tool, 0, toolsMax, 'tools')]],
    ['tool_results', [results]],
    ['response_format', [v.object]],
    ['citation_quality', [v.string]],
    ['search_queries_only', [v.anyJson]],
    ['conversation_id', [v.anyJson]],
    // A request is one step here.
    ['force_single_step', [v.anyJson]],
  ]),
  generate: new Map([...shared, ['prompt', [v.string]], ['num_generations', [v.integerIn(1, 1)]]]),
};
const required: Readonly<Record<Version1Form, ReadonlyMap<string, string>>> = {
  chat: new Map([['message', "a text. For 'messages', POST /v1/chat/completions, or /v2/chat of Cohere"]]),
  generate: new Map([['prompt', 'a text']]),
};
const questions = {
  chat: questionsOf(fields.chat, required.chat),
  generate: questionsOf(fields.generate, required.generate),
};

/** Fields of version 2 in the words of version 1, for errors and losses. */
export const version1Words: Readonly<Record<Version1Form, Readonly<Record<string, string>>>> = {
  chat: { messages: 'message', citation_options: 'citation_quality' },
  generate: { messages: 'prompt' },
};

/** Schema of a body of version 1 for `/openapi.json`. */
export function version1Schema(form: Version1Form): JsonSchema {
  return bodySchema(fields[form], required[form]);
}

/** A body of `POST /v1/chat` or `/v1/generate` as one of `/v2/chat`. */
export function toVersion2(form: Version1Form, request: JsonObject): AsVersion2 | Failure {
  const failure = questions[form].invalidFieldIn(request) ?? refusalOf(request);
  if (failure !== null) return failure;
  const { preamble, prompt, documents, tools, response_format: format, citation_quality: citing } = request;
  const turns = form === 'chat' ? turnsOf(request) : [{ role: 'USER', message: prompt }];
  const instructed = typeof preamble === 'string' && preamble !== '' ? [{ role: 'SYSTEM', message: preamble }] : [];
  const body: JsonObject = {
    messages: messagesOf([...instructed, ...(turns as JsonObject[])]),
    ...(isObject(format) && { response_format: formatOf(format) }),
    ...(Array.isArray(documents) && { documents: documentsOf(request).map(documentOf) }),
    ...(Array.isArray(tools) && { tools: objectsIn(tools).map(toolOf) }),
    ...(/^(?:off|disabled)$/i.test(jsonText(citing)) && { citation_options: { mode: 'OFF' } }),
  };
  for (const [name] of shared) if (request[name] !== undefined) body[name] = request[name];
  return { body, lost: questions[form].unknownFieldsIn(request) };
}

function refusalOf({ search_queries_only: queries, conversation_id: conversation }: JsonObject): Failure | null {
  if (queries === true)
    return invalid('search_queries_only', "'search_queries_only' is Cohere's alone. Ask for queries in 'message'.");
  if (typeof conversation === 'string' && conversation !== '')
    return invalid('conversation_id', "'conversation_id' names nothing here. Send the turns in 'chat_history'.");
  return null;
}

/** The turns of the request, this one too. Results come at once behind their calls, where the history ends with these. */
export function turnsOf({ chat_history: history, message, tool_results: given }: JsonObject): JsonObject[] {
  const turns = objectsIn(history);
  const tool = Array.isArray(given) && given.length > 0 ? [{ role: 'TOOL', tool_results: given }] : [];
  const user = message === '' && turns.length + tool.length > 0 ? [] : [{ role: 'USER', message: message ?? '' }];
  return Array.isArray(turns.at(-1)?.tool_calls) ? [...turns, ...tool, ...user] : [...turns, ...user, ...tool];
}

const roles: Readonly<Record<string, string>> = { USER: 'user', CHATBOT: 'assistant', SYSTEM: 'system' };

/** Calls have no ids there: a result is of the call of the same name and parameters, or of the first of that name. */
function messagesOf(turns: readonly JsonObject[]): JsonObject[] {
  const messages: JsonObject[] = [];
  let waiting: { id: string; call: JsonObject }[] = [];
  let calls = 0;
  const callsTurn = (message: JsonValue | undefined, made: JsonObject[]) => {
    waiting = made.map((one) => ({ id: `call_${calls++}`, call: one }));
    const tool_calls = waiting.map(({ id, call: { name, parameters } }) => {
      return { id, type: 'function', function: { name, arguments: JSON.stringify(parameters ?? {}) } };
    });
    messages.push({ role: 'assistant', ...(stringOr(message, '') !== '' && { content: message }), tool_calls });
  };
  for (const { role, message, tool_calls: made, tool_results: given } of turns) {
    const answers = objectsIn(given);
    if (Array.isArray(made) && made.length > 0) callsTurn(message, objectsIn(made));
    else if (role !== 'TOOL') messages.push({ role: roles[jsonText(role)] ?? 'user', content: message ?? '' });
    // The history may lack the calls, as single steps leave them out.
    else if (waiting.length < answers.length)
      callsTurn(
        '',
        answers.map(({ call: one }) => objectIn(one)),
      );
    for (const { call: of, outputs } of answers) {
      const { name } = objectIn(of);
      const same = waiting.findIndex(
        ({ call: one }) => isDeepStrictEqual(one.parameters, objectIn(of).parameters) && one.name === name,
      );
      const at = same === -1 ? waiting.findIndex(({ call: one }) => one.name === name) : same;
      const [found] = waiting.splice(Math.max(at, 0), 1);
      const content = objectsIn(outputs).map((data) => ({ type: 'document', document: { data } }));
      messages.push({ role: 'tool', tool_call_id: found?.id ?? '', content });
    }
  }
  return messages;
}

/** Documents of the request, each with an id as Cohere gives it. */
export function documentsOf({ documents }: JsonObject): JsonObject[] {
  return objectsIn(documents).map((document, at) => ({ ...document, id: stringOr(document.id, `doc_${at}`) }));
}

function documentOf({ id, _excludes: hidden, ...data }: JsonObject): JsonObject {
  if (Array.isArray(hidden)) for (const name of hidden) delete data[jsonText(name)];
  return { id, data };
}

function formatOf({ schema, ...format }: JsonObject): JsonObject {
  return schema === undefined ? format : { ...format, json_schema: schema };
}

function toolOf({ name, description, parameter_definitions: definitions }: JsonObject): JsonObject {
  const entries = Object.entries(objectIn(definitions)).map(([key, value]) => [key, objectIn(value)] as const);
  const properties = entries.map(([key, { type, description: words }]): [string, JsonObject] => {
    return [key, { ...schemaOf(jsonText(type)), ...(words !== undefined && { description: words }) }];
  });
  const parameters = {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: entries.flatMap(([key, value]) => (value.required === true ? [key] : [])),
  };
  return { type: 'function', function: { name, ...(description !== undefined && { description }), parameters } };
}

/** JSON Schema's types by Python's. */
const types: Readonly<Record<string, string>> = {
  str: 'string',
  int: 'integer',
  float: 'number',
  bool: 'boolean',
  list: 'array',
  tuple: 'array',
  dict: 'object',
};

/** Schema of a type such as `str` or `List[int]`; JSON Schema's words stay, and any other may be anything. */
function schemaOf(text: string): JsonObject {
  const [, outer = '', inner] = /^\s*(\w+)\s*(?:\[(.*)\]\s*)?$/s.exec(text.toLowerCase()) ?? [];
  if (outer === 'optional' && inner !== undefined) return schemaOf(inner);
  const type = types[outer] ?? outer;
  if (!Object.values(types).includes(type)) return {};
  return type === 'array' ? { type, items: inner === undefined ? {} : schemaOf(inner) } : { type };
}
