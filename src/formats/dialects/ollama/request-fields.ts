import type { JsonObject } from '../../../kernel/json.ts';
import { bodySchema, described, type JsonSchema } from '../../neutral/described-check.ts';
import {
  anyJson,
  arrayOf,
  boolean,
  type Check,
  functionName,
  integerIn,
  members,
  needed,
  numberIn,
  object,
  oneOf,
  string,
  wordOr,
} from '../../neutral/value-checks.ts';
import { invalidField, plainTable } from '../field-table.ts';

const messagesMax = 100_000;
const toolsMax = 128;
const efforts = ['low', 'medium', 'high', 'max'] as const;

const call = members("an object with 'function'", {
  id: string,
  function: needed(
    members("an object with 'name' and 'arguments'", { name: needed(functionName, 'a name'), arguments: object }),
    "an object with 'name' and 'arguments'",
  ),
});

const images = arrayOf(string, 0, 64, 'pictures in base64');

const message = members("an object with 'role' and 'content'", {
  role: needed(oneOf('system', 'user', 'assistant', 'tool'), "'system', 'user', 'assistant' or 'tool'"),
  content: string,
  thinking: string,
  images,
  tool_calls: arrayOf(call, 0, toolsMax, 'calls'),
  tool_name: string,
  tool_call_id: string,
});

/** A tool of a function. */
export const tool = members("an object with 'type' and 'function'", {
  type: oneOf('function'),
  function: needed(
    members("an object with 'name', 'description' and 'parameters'", {
      name: needed(functionName, 'the name of the function'),
      description: string,
      parameters: object,
    }),
    "an object with 'name', 'description' and 'parameters'",
  ),
});

/** Members of `options` that every model knows. The others tune a model on a local machine. */
const options = {
  temperature: numberIn(0, 2),
  top_p: numberIn(0, 1),
  top_k: integerIn(0, Number.MAX_SAFE_INTEGER),
  seed: integerIn(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  num_predict: integerIn(-2, Number.MAX_SAFE_INTEGER),
  stop: wordOrTexts(),
  presence_penalty: numberIn(-2, 2),
  frequency_penalty: numberIn(-2, 2),
};

function wordOrTexts(): Check {
  const texts = arrayOf(string, 0, 16, 'texts');
  return described({ anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] }, (value) =>
    typeof value === 'string' ? null : texts(value),
  );
}

const thinks = described({ anyOf: [{ type: 'boolean' }, { type: 'string', enum: [...efforts] }] }, (value) =>
  typeof value === 'boolean' ? null : oneOf(...efforts)(value),
);

const shared = {
  model: string,
  stream: boolean,
  format: wordOr(['json', ''], object),
  options: members('an object such as {"temperature": 0.5}', options),
  think: thinks,
  keep_alive: anyJson,
};

/** Fields of `POST /api/chat`. */
const chatFields = plainTable({
  ...shared,
  messages: arrayOf(message, 1, messagesMax, 'messages'),
  tools: arrayOf(tool, 0, toolsMax, 'tools'),
});

/** Fields of `POST /api/generate`. */
const generateFields = plainTable({ ...shared, prompt: string, system: string, images });

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
