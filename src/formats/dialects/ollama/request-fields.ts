import type { JsonObject } from '../../../kernel/json.ts';
import { bodySchema, described, type JsonSchema } from '../../neutral/described-check.ts';
import * as v from '../../neutral/value-checks.ts';
import { invalidField, plainTable } from '../field-table.ts';

const messagesMax = 100_000;
const toolsMax = 128;
const efforts = ['low', 'medium', 'high', 'max'] as const;

const call = v.members("an object with 'function'", {
  id: v.string,
  function: v.needed(
    v.members("an object with 'name' and 'arguments'", {
      name: v.needed(v.functionName, 'a name'),
      arguments: v.object,
    }),
    "an object with 'name' and 'arguments'",
  ),
});

const images = v.arrayOf(v.string, 0, 64, 'pictures in base64');

const message = v.members("an object with 'role' and 'content'", {
  role: v.needed(v.oneOf('system', 'user', 'assistant', 'tool'), "'system', 'user', 'assistant' or 'tool'"),
  content: v.string,
  thinking: v.string,
  images,
  tool_calls: v.arrayOf(call, 0, toolsMax, 'calls'),
  tool_name: v.string,
  tool_call_id: v.string,
});

export const tool = v.members("an object with 'type' and 'function'", {
  type: v.oneOf('function'),
  function: v.needed(
    v.members("an object with 'name', 'description' and 'parameters'", {
      name: v.needed(v.functionName, 'the name of the function'),
      description: v.string,
      parameters: v.object,
    }),
    "an object with 'name', 'description' and 'parameters'",
  ),
});

/** Members of `options` that every model knows. The others tune a model on a local machine. */
const options = {
  temperature: v.numberIn(0, 2),
  top_p: v.numberIn(0, 1),
  top_k: v.integerIn(0, Number.MAX_SAFE_INTEGER),
  seed: v.integerIn(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  num_predict: v.integerIn(-2, Number.MAX_SAFE_INTEGER),
  stop: wordOrTexts(),
  presence_penalty: v.numberIn(-2, 2),
  frequency_penalty: v.numberIn(-2, 2),
};

function wordOrTexts(): v.Check {
  const texts = v.arrayOf(v.string, 0, 16, 'texts');
  return described({ anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] }, (value) =>
    typeof value === 'string' ? null : texts(value),
  );
}

const thinks = described({ anyOf: [{ type: 'boolean' }, { type: 'string', enum: [...efforts] }] }, (value) =>
  typeof value === 'boolean' ? null : v.oneOf(...efforts)(value),
);

const shared = {
  model: v.string,
  stream: v.boolean,
  format: v.wordOr(['json', ''], v.object),
  options: v.members('an object such as {"temperature": 0.5}', options),
  think: thinks,
  keep_alive: v.anyJson,
};

/** Fields of `POST /api/chat`. */
const chatFields = plainTable({
  ...shared,
  messages: v.arrayOf(message, 1, messagesMax, 'messages'),
  tools: v.arrayOf(tool, 0, toolsMax, 'tools'),
});

/** Fields of `POST /api/generate`. */
const generateFields = plainTable({ ...shared, prompt: v.string, system: v.string, images });

const model = ['model', 'the name of a model (GET /api/tags lists them)'] as const;
const requiredOfChat = new Map([model, ['messages', 'an array of at least one message']]);
const requiredOfGenerate = new Map([model, ['prompt', 'a text']]);

/** A request's words that no other format has: what they do is lost. */
export const handled = {
  chat: new Set(chatFields.keys()),
  generate: new Set(generateFields.keys()),
  options: new Set(Object.keys(options)),
} as const;

/** The first fault of a body, which names its field; null: none. */
export function invalidFieldIn(body: JsonObject, form: 'chat' | 'generate') {
  const [fields, required] = form === 'chat' ? [chatFields, requiredOfChat] : [generateFields, requiredOfGenerate];
  return invalidField(fields, body, required);
}

export function requestSchema(): JsonSchema {
  return bodySchema(chatFields, requiredOfChat);
}

/** Schema of `/api/generate`. */
export function generateSchema(): JsonSchema {
  return bodySchema(generateFields, requiredOfGenerate);
}
